#include "runtime/plan/graph_index.h"

#include <algorithm>
#include <tuple>

namespace cgraph::plan {
namespace {

uint64_t ExtentKey(uint32_t symbol, uint32_t device) {
  return static_cast<uint64_t>(symbol) << 32 | device;
}

}  // namespace

GraphIndex::GraphIndex(const Plan& plan, const Graph& graph)
    : plan_(plan), graph_(graph), lane_of_(graph.instructions.size()) {
  for (uint32_t lane = 0; lane < graph.programs.size(); ++lane) {
    const Range& program = graph.programs[lane];
    std::fill_n(lane_of_.begin() + program.first(), program.count(), lane);
  }
  extents_.reserve(graph.extents.size());
  for (const Extent& extent : graph.extents) {
    extents_.emplace_back(ExtentKey(extent.symbol(), extent.device()), extent.value());
  }
  std::sort(extents_.begin(), extents_.end());
}

void GraphIndex::IndexMessages() {
  if (!graph_.channels.empty()) {
    sends_ = MessagesOf(Part::send);
    receives_ = MessagesOf(Part::recv);
  }
  if (!graph_.collectives.empty()) IndexCollectives();
}

// Returns the sends or the receives by channel, in the order of the lane.
Lists<Message> GraphIndex::MessagesOf(Part part) const {
  return Lists<Message>(graph_.channels.size(), [&](auto add) {
    for (const Range& program : graph_.programs) {
      for (uint32_t i = program.first(); i < program.first() + program.count(); ++i) {
        const Instruction& comm = graph_.instructions[i];
        if (comm.kind() != Kind::comm) continue;
        for (uint32_t p = comm.first(); p < comm.first() + comm.inputs(); ++p) {
          if (graph_.parts[p].part() == part) add(graph_.parts[p].subject(), {i, p});
        }
      }
    }
  });
}

void GraphIndex::IndexCollectives() {
  // The position of a lane among the members: a lane that is no member is left out (and refused).
  std::vector<std::tuple<uint32_t, uint32_t, uint32_t>> members;  // communicator, lane, member
  for (uint32_t c = 0; c < plan_.communicators.size(); ++c) {
    const Communicator& communicator = plan_.communicators[c];
    for (uint32_t m = 0; m < communicator.members(); ++m) {
      members.emplace_back(c, plan_.members[communicator.first_member() + m], m);
    }
  }
  std::sort(members.begin(), members.end());
  std::vector<uint32_t> rounds(members.size(), 0);
  for (const Range& program : graph_.programs) {
    for (uint32_t i = program.first(); i < program.first() + program.count(); ++i) {
      const Instruction& comm = graph_.instructions[i];
      if (comm.kind() != Kind::comm) continue;
      for (uint32_t p = comm.first(); p < comm.first() + comm.inputs(); ++p) {
        if (graph_.parts[p].part() != Part::collective) continue;
        const uint32_t c = graph_.collectives[graph_.parts[p].subject()]->communicator;
        const auto member =
            std::lower_bound(members.begin(), members.end(), std::tuple(c, lane(i), 0u));
        if (member == members.end() || std::get<0>(*member) != c || std::get<1>(*member) != lane(i))
          continue;
        collective_parts_.push_back(
            {c, rounds[member - members.begin()]++, std::get<2>(*member), i, p});
      }
    }
  }
  std::sort(collective_parts_.begin(), collective_parts_.end(),
            [](const CollectivePart& a, const CollectivePart& b) {
              return std::tie(a.communicator, a.turn, a.member) <
                     std::tie(b.communicator, b.turn, b.member);
            });
}

uint32_t GraphIndex::ExtentValue(uint32_t symbol, uint32_t device) const {
  const uint64_t key = ExtentKey(symbol, device);
  const auto found = std::lower_bound(extents_.begin(), extents_.end(), std::pair(key, 0u));
  return found != extents_.end() && found->first == key ? found->second : kNone;
}

std::vector<uint64_t> ScaledBy(const Graph& graph, const Access& access) {
  const Value& value = graph.values[access.value];
  std::vector<uint64_t> scaled;
  for (uint32_t d = 0; d < value.rank(); ++d) {
    const uint32_t symbol = graph.dims[value.first_dim() + d].symbol();
    if (symbol != kNone) scaled.push_back(symbol);
  }
  if (scaled.empty()) return scaled;
  std::sort(scaled.begin(), scaled.end());
  scaled.push_back(access.begin);
  scaled.push_back(access.end);
  return scaled;
}

void CutIntoPieces(std::span<const Access> accesses, std::vector<uint64_t>& ends) {
  ends.clear();
  for (const Access& access : accesses) {
    ends.push_back(access.begin);
    ends.push_back(access.end);
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
}

Lists<Access> AccessesByBuffer(const GraphIndex& index) {
  const Graph& graph = index.graph();
  Lists<Access> accesses(graph.buffers.size(), [&](auto add) {
    for (uint32_t i = 0; i < graph.instructions.size(); ++i) {
      index.ForEachAccess(i, [&](uint32_t id, bool write) {
        const Value& value = graph.values[id];
        add(value.buffer(), {i, id, graph.instructions[i].program_order(), write, value.offset(),
                             value.offset() + value.bytes()});
      });
    }
  });
  accesses.Sort([](const Access& a, const Access& b) {
    return std::tie(a.program_order, a.write, a.instruction, a.value) <
           std::tie(b.program_order, b.write, b.instruction, b.value);
  });
  return accesses;
}

}  // namespace cgraph::plan
