// Arenas, buffers, values: rule 5 (a value lies in its buffer and a buffer in its arena; only slots
// and scratch are reused) and rule 6 (copies). Sizes are multiplied and added without overflow, and
// bounded as a whole, so that a hostile plan cannot ask for any amount of memory.
#include <algorithm>
#include <tuple>

#include "runtime/plan/check/check_internal.h"
#include "runtime/plan/kinds.h"

namespace cgraph::plan::check {
namespace {

std::string ArenaText(const Arena& arena, size_t id) {
  return fmt::format("arena {} ({})", id, EnumNameSpace(arena.space()));
}

Status CheckCopies(const Context& context, const Arena& arena, size_t id) {
  const uint32_t copies = arena.copies();
  const Space space = arena.space();
  const bool fresh = space == Space::input || space == Space::output;
  const bool good = fresh ? copies == 0 : space == Space::slot ? copies >= 1 : copies == 1;
  if (good) return Status::Ok();
  return Refuse(context, 6,
                fmt::format("{} has {} copies: input and output have 0, state, constant "
                            "and scratch 1, slot at least 1",
                            ArenaText(arena, id), copies));
}

Status CheckStateArena(const Context& context, const Arena& arena, size_t id,
                       std::vector<uint32_t>& owners) {
  const Plan& plan = context.plan;
  if (arena.space() != Space::state) {
    if (NoneOrIn(arena.owner(), plan.actors.size())) return Status::Ok();
    return Refuse(context, fmt::format("{} has no such owner", ArenaText(arena, id)));
  }
  if (arena.owner() >= plan.actors.size()) {
    return Refuse(context, fmt::format("{} has no actor as its owner", ArenaText(arena, id)));
  }
  const Actor& actor = *plan.actors[arena.owner()];
  if (arena.device() != actor.device || arena.bytes() > actor.state_bytes) {
    return Refuse(context, fmt::format("{} is not actor `{}`'s block of {} bytes on its device",
                                       ArenaText(arena, id), actor.name, actor.state_bytes));
  }
  owners.push_back(arena.owner());
  return Status::Ok();
}

Status CheckArenas(const Context& context) {
  const Graph& graph = context.graph;
  uint64_t total = 0;
  std::vector<uint32_t> owners;
  for (size_t id = 0; id < graph.arenas.size(); ++id) {
    const Arena& arena = graph.arenas[id];
    if (arena.device() >= context.plan.devices.size() || !Known(arena.space()) ||
        !Known(arena.memory())) {
      return Refuse(context,
                    fmt::format("arena {} has a device, space or memory that does not exist", id));
    }
    CGRAPH_RETURN_IF_ERROR(CheckCopies(context, arena, id));
    CGRAPH_RETURN_IF_ERROR(CheckStateArena(context, arena, id, owners));
    const uint64_t copies = std::max<uint64_t>(arena.copies(), 1);
    if (arena.bytes() > (kMaxArenaBytes - total) / copies) {
      return Refuse(context, fmt::format("the arenas have more than {} bytes", kMaxArenaBytes));
    }
    total += arena.bytes() * copies;
  }
  std::sort(owners.begin(), owners.end());
  const auto twice = std::adjacent_find(owners.begin(), owners.end());
  if (twice == owners.end()) return Status::Ok();
  return Refuse(context, 5,
                fmt::format("actor `{}` has two state arenas", context.plan.actors[*twice]->name));
}

// Checks buffers that share bytes, and so reuse memory: not allowed for memory that outlives or
// outruns an execution.
Status CheckReuse(const Context& context) {
  const Graph& graph = context.graph;
  std::vector<uint32_t> kept;
  for (uint32_t id = 0; id < graph.buffers.size(); ++id) {
    const Space space = graph.arenas[graph.buffers[id].arena()].space();
    if (space == Space::slot || space == Space::scratch || graph.buffers[id].bytes() == 0) continue;
    kept.push_back(id);
  }
  auto key = [&](uint32_t id) {
    return std::tuple(graph.buffers[id].arena(), graph.buffers[id].offset());
  };
  std::sort(kept.begin(), kept.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  for (size_t i = 1; i < kept.size(); ++i) {
    const Buffer& before = graph.buffers[kept[i - 1]];
    const Buffer& buffer = graph.buffers[kept[i]];
    if (before.arena() != buffer.arena() || before.offset() + before.bytes() <= buffer.offset()) {
      continue;
    }
    return Refuse(
        context, 5,
        fmt::format("buffers {} and {} overlap in {}: only slot and scratch "
                    "memory is reused",
                    kept[i - 1], kept[i], ArenaText(graph.arenas[buffer.arena()], buffer.arena())));
  }
  return Status::Ok();
}

// Checks that the buffers of one group lie side by side, so that a collective can take them as one.
Status CheckGroups(const Context& context) {
  const Graph& graph = context.graph;
  std::vector<uint32_t> grouped;
  for (uint32_t id = 0; id < graph.buffers.size(); ++id) {
    if (graph.buffers[id].group() != kNone) grouped.push_back(id);
  }
  auto key = [&](uint32_t id) {
    const Buffer& buffer = graph.buffers[id];
    return std::tuple(buffer.group(), buffer.arena(), buffer.offset(), buffer.bytes());
  };
  std::sort(grouped.begin(), grouped.end(),
            [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  for (size_t i = 1; i < grouped.size(); ++i) {
    const Buffer& before = graph.buffers[grouped[i - 1]];
    const Buffer& buffer = graph.buffers[grouped[i]];
    if (before.group() != buffer.group()) continue;
    if (before.arena() == buffer.arena() && before.offset() + before.bytes() == buffer.offset()) {
      continue;
    }
    return Refuse(context, 5,
                  fmt::format("buffers {} and {} of group {} are not adjacent", grouped[i - 1],
                              grouped[i], buffer.group()));
  }
  return Status::Ok();
}

Status CheckBuffers(const Context& context) {
  const Graph& graph = context.graph;
  for (size_t id = 0; id < graph.buffers.size(); ++id) {
    const Buffer& buffer = graph.buffers[id];
    if (buffer.arena() >= graph.arenas.size()) {
      return Refuse(context, fmt::format("buffer {} has an arena that does not exist", id));
    }
    const Arena& arena = graph.arenas[buffer.arena()];
    if (!InRange(buffer.offset(), buffer.bytes(), arena.bytes())) {
      return Refuse(
          context, 5,
          fmt::format("buffer {} (at {}, {} bytes) is outside {} of {} bytes", id, buffer.offset(),
                      buffer.bytes(), ArenaText(arena, buffer.arena()), arena.bytes()));
    }
    const uint32_t align = buffer.align();
    if (align == 0 || (align & (align - 1)) != 0 || align > kMaxAlign ||
        buffer.offset() % align != 0) {
      return Refuse(context,
                    fmt::format("buffer {} at {} has alignment {}: a power of two up to {} "
                                "that divides the offset",
                                id, buffer.offset(), align, kMaxAlign));
    }
  }
  CGRAPH_RETURN_IF_ERROR(CheckReuse(context));
  return CheckGroups(context);
}

Status CheckValue(const Context& context, uint32_t id) {
  const Graph& graph = context.graph;
  const Value& value = graph.values[id];
  if (!NoneOrIn(value.name(), context.plan.names.size()) || !Known(value.dtype()) ||
      value.rank() > kMaxRank || value.buffer() >= graph.buffers.size() ||
      !InRange(value.first_dim(), value.rank(), graph.dims.size())) {
    return Refuse(context, fmt::format("value {} has a name, dtype, dims or buffer that does not "
                                       "exist",
                                       id));
  }
  const Dim* dims = graph.dims.data() + value.first_dim();
  int64_t extents[kMaxRank];
  for (uint32_t d = 0; d < value.rank(); ++d) {
    extents[d] = dims[d].extent();
    if (dims[d].symbol() == kNone) continue;
    if (dims[d].symbol() >= graph.symbols.size() ||
        graph.symbols[dims[d].symbol()].bound() != dims[d].extent()) {
      return Refuse(context,
                    fmt::format("{} has a dimension whose extent is not its symbol's bound",
                                ValueText(context, id)));
    }
  }
  if (TensorBytes(value.dtype(), {extents, value.rank()}, kMaxArenaBytes) != value.bytes()) {
    return Refuse(context, fmt::format("{} has {} bytes, which its type at the bound has not",
                                       ValueText(context, id), value.bytes()));
  }
  const Buffer& buffer = graph.buffers[value.buffer()];
  if (!InRange(value.offset(), value.bytes(), buffer.bytes())) {
    return Refuse(
        context, 5,
        fmt::format("{} (at {}, {} bytes) is outside its buffer of {} bytes",
                    ValueText(context, id), value.offset(), value.bytes(), buffer.bytes()));
  }
  if ((buffer.offset() + value.offset()) % static_cast<uint64_t>(DTypeBytes(value.dtype())) != 0) {
    return Refuse(context, fmt::format("{} is not aligned to its dtype", ValueText(context, id)));
  }
  return Status::Ok();
}

// Checks that every constant buffer gets its bytes, once.
Status CheckConstants(const Context& context) {
  const Graph& graph = context.graph;
  std::vector<uint8_t> filled(graph.buffers.size(), 0);
  for (const Constant& constant : graph.constants) {
    const bool exists = constant.buffer() < graph.buffers.size();
    if (!exists ||
        graph.arenas[graph.buffers[constant.buffer()].arena()].space() != Space::constant ||
        filled[constant.buffer()] != 0) {
      return Refuse(context,
                    fmt::format("constant for buffer {}: no constant buffer, or filled twice",
                                constant.buffer()));
    }
    filled[constant.buffer()] = 1;
    if (!InRange(constant.first(), graph.buffers[constant.buffer()].bytes(),
                 graph.constant_data.size())) {
      return Refuse(context, fmt::format("the constant of buffer {} is outside the constant data",
                                         constant.buffer()));
    }
  }
  for (uint32_t id = 0; id < graph.buffers.size(); ++id) {
    if (graph.arenas[graph.buffers[id].arena()].space() == Space::constant && filled[id] == 0 &&
        graph.buffers[id].bytes() > 0) {
      return Refuse(context, 4, fmt::format("constant buffer {} is filled by nothing", id));
    }
  }
  return Status::Ok();
}

}  // namespace

Status CheckMemory(const Context& context) {
  const Graph& graph = context.graph;
  CGRAPH_RETURN_IF_ERROR(CheckArenas(context));
  CGRAPH_RETURN_IF_ERROR(CheckBuffers(context));
  for (size_t id = 0; id < graph.symbols.size(); ++id) {
    const Symbol& symbol = graph.symbols[id];
    if (symbol.bound() < 0 || !NoneOrIn(symbol.name(), context.plan.names.size())) {
      return Refuse(context, fmt::format("symbol {} has a negative bound or no name", id));
    }
  }
  for (uint32_t id = 0; id < graph.values.size(); ++id) {
    CGRAPH_RETURN_IF_ERROR(CheckValue(context, id));
  }
  return CheckConstants(context);
}

}  // namespace cgraph::plan::check
