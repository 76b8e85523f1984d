// Damage to operands, values, buffers and arenas.
#include "tests/mutants/mutate.h"

namespace cgraph::mutants {
namespace {

using plan::Arena;
using plan::Buffer;
using plan::Value;

bool OperandAny(Damage& damage) {
  if (damage.graph.operands.empty()) return false;
  const uint32_t index = damage.random.Below(damage.graph.operands.size());
  const uint32_t value = damage.random.Below(damage.graph.values.size());
  damage.graph.operands[index] = value;
  SuspectBuffer(damage, damage.graph.values[value].buffer());
  return true;
}

bool SwapOperands(Damage& damage) {
  if (damage.graph.operands.size() < 2) return false;
  const uint32_t a = damage.random.Below(damage.graph.operands.size());
  const uint32_t b = damage.random.Below(damage.graph.operands.size());
  const uint32_t value = damage.graph.operands[a];
  if (value == damage.graph.operands[b]) return false;
  damage.graph.operands[a] = damage.graph.operands[b];
  damage.graph.operands[b] = value;
  SuspectBuffer(damage, damage.graph.values[value].buffer());
  SuspectBuffer(damage, damage.graph.values[damage.graph.operands[a]].buffer());
  return true;
}

// A buffer goes where another one of its arena is, or partly so.
bool BufferOffset(Damage& damage) {
  const uint32_t index = damage.random.Below(damage.graph.buffers.size());
  const uint32_t other = damage.random.Below(damage.graph.buffers.size());
  Buffer& buffer = damage.graph.buffers[index];
  const Buffer& target = damage.graph.buffers[other];
  if (index == other || target.arena() != buffer.arena()) return false;
  uint64_t offset = target.offset();
  if (damage.random.OneIn(3)) offset += target.bytes() / 2;
  if (offset == buffer.offset() ||
      offset + buffer.bytes() > damage.graph.arenas[buffer.arena()].bytes()) {
    return false;
  }
  buffer.mutate_offset(offset);
  SuspectBuffer(damage, index);
  SuspectBuffer(damage, other);
  return true;
}

bool BufferArena(Damage& damage) {
  if (damage.graph.buffers.empty()) return false;
  const uint32_t index = damage.random.Below(damage.graph.buffers.size());
  Buffer& buffer = damage.graph.buffers[index];
  const uint32_t arena = damage.random.Below(damage.graph.arenas.size());
  if (arena == buffer.arena() ||
      buffer.offset() + buffer.bytes() > damage.graph.arenas[arena].bytes()) {
    return false;
  }
  buffer.mutate_arena(arena);
  SuspectBuffer(damage, index);
  return true;
}

// The values of one buffer move into another one.
bool MergeBuffers(Damage& damage) {
  const uint32_t from = damage.random.Below(damage.graph.buffers.size());
  const uint32_t into = damage.random.Below(damage.graph.buffers.size());
  if (from == into ||
      damage.graph.buffers[from].bytes() > damage.graph.buffers[into].bytes()) {
    return false;
  }
  for (Value& value : damage.graph.values) {
    if (value.buffer() == from) value.mutate_buffer(into);
  }
  SuspectBuffer(damage, into);
  return true;
}

bool ValueBuffer(Damage& damage) {
  if (damage.graph.values.empty()) return false;
  Value& value = damage.graph.values[damage.random.Below(damage.graph.values.size())];
  const uint32_t buffer = damage.random.Below(damage.graph.buffers.size());
  if (buffer == value.buffer() ||
      value.offset() + value.bytes() > damage.graph.buffers[buffer].bytes()) {
    return false;
  }
  value.mutate_buffer(buffer);
  SuspectBuffer(damage, buffer);
  return true;
}

bool ArenaCopies(Damage& damage) {
  if (damage.graph.arenas.empty()) return false;
  const uint32_t index = damage.random.Below(damage.graph.arenas.size());
  Arena& arena = damage.graph.arenas[index];
  const auto copies = static_cast<uint16_t>(damage.random.Below(4));
  if (copies == arena.copies()) return false;
  arena.mutate_copies(copies);
  for (uint32_t buffer = 0; buffer < damage.graph.buffers.size(); ++buffer) {
    if (damage.graph.buffers[buffer].arena() == index) SuspectBuffer(damage, buffer);
  }
  return true;
}

// Every slot arena with one copy more or less: what matters is whether the waits allow it.
bool AllCopies(Damage& damage) {
  const auto copies = static_cast<uint16_t>(1 + damage.random.Below(4));
  bool changed = false;
  for (Arena& arena : damage.graph.arenas) {
    if (arena.space() == plan::Space::slot && arena.copies() != copies) {
      arena.mutate_copies(copies);
      changed = true;
    }
  }
  return changed;
}

bool ArenaSpace(Damage& damage) {
  if (damage.graph.arenas.empty()) return false;
  Arena& arena = damage.graph.arenas[damage.random.Below(damage.graph.arenas.size())];
  const auto space = static_cast<plan::Space>(damage.random.Below(6));
  if (space == arena.space()) return false;
  arena.mutate_space(space);
  return true;
}

bool Type(Damage& damage) {
  if (damage.graph.values.empty()) return false;
  const uint32_t index = damage.random.Below(damage.graph.values.size());
  Value& value = damage.graph.values[index];
  if (value.dtype() == plan::DType::f32) {
    value.mutate_dtype(plan::DType::i32);  // the same width
  } else if (value.rank() > 0) {
    plan::Dim& dim = damage.graph.dims[value.first_dim()];
    dim.mutate_extent(dim.extent() + 1);
  } else {
    return false;
  }
  return true;
}

bool DimSymbol(Damage& damage) {
  if (damage.graph.dims.empty() || damage.graph.symbols.empty()) return false;
  plan::Dim& dim = damage.graph.dims[damage.random.Below(damage.graph.dims.size())];
  dim.mutate_symbol(dim.symbol() == plan::kNone ? damage.random.Below(damage.graph.symbols.size())
                                                : plan::kNone);
  return true;
}

// Half of the time it is a number at least.
bool ExtentValue(Damage& damage) {
  if (damage.graph.extents.empty()) return false;
  plan::Extent& extent = damage.graph.extents[damage.random.Below(damage.graph.extents.size())];
  uint32_t value = damage.random.Below(damage.graph.values.size());
  const auto is_number = [&] {
    const Value& row = damage.graph.values[value];
    return row.dtype() == plan::DType::i64 && row.rank() == 0;
  };
  const uint32_t tries = damage.random.OneIn(2) ? 0 : 40;
  for (uint32_t i = 0; i < tries && (!is_number() || value == extent.value()); ++i) {
    value = damage.random.Below(damage.graph.values.size());
  }
  extent.mutate_value(value);
  SuspectBuffer(damage, damage.graph.values[value].buffer());
  return true;
}

// A call leaves its result where a device finds an extent.
bool ExtentMaker(Damage& damage) {
  if (damage.graph.extents.empty()) return false;
  const uint32_t extent =
      damage.graph.extents[damage.random.Below(damage.graph.extents.size())].value();
  const uint32_t index = damage.random.Below(damage.graph.instructions.size());
  const plan::Instruction& call = damage.graph.instructions[index];
  if (call.kind() != plan::Kind::call || call.outputs() == 0) return false;
  const uint32_t output = call.first() + call.inputs() + damage.random.Below(call.outputs());
  if (damage.graph.operands[output] == extent) return false;
  damage.graph.operands[output] = extent;
  SuspectBuffer(damage, damage.graph.values[extent].buffer());
  return true;
}

bool Inplace(Damage& damage) {
  if (damage.plan.kernels.empty()) return false;
  plan::Kernel& kernel = *damage.plan.kernels[damage.random.Below(damage.plan.kernels.size())];
  if (kernel.inplace.empty() || damage.random.OneIn(2)) {
    kernel.inplace.emplace_back(damage.random.Below(2), damage.random.Below(2));
  } else {
    kernel.inplace.pop_back();
  }
  return true;
}

// A call writes where it reads.
bool Alias(Damage& damage) {
  const uint32_t index = damage.random.Below(damage.graph.instructions.size());
  const plan::Instruction& call = damage.graph.instructions[index];
  if (call.kind() != plan::Kind::call || call.inputs() == 0 || call.outputs() == 0) return false;
  const uint32_t input = damage.random.Below(call.inputs());
  const uint32_t output = damage.random.Below(call.outputs());
  if (damage.random.OneIn(2)) {
    damage.plan.kernels[call.subject()]->inplace.emplace_back(input, output);
  }
  const uint32_t value = damage.graph.operands[call.first() + input];
  damage.graph.operands[call.first() + call.inputs() + output] = value;
  SuspectBuffer(damage, damage.graph.values[value].buffer());
  return true;
}

}  // namespace

const std::vector<MutationKind>& MemoryMutations() {
  static const std::vector<MutationKind> kinds = {
      {Fault::kReuse, "operand", OperandAny},
      {Fault::kReuse, "swap operands", SwapOperands},
      {Fault::kReuse, "buffer offset", BufferOffset},
      {Fault::kReuse, "buffer arena", BufferArena},
      {Fault::kReuse, "merge buffers", MergeBuffers},
      {Fault::kReuse, "value's buffer", ValueBuffer},
      {Fault::kReuse, "arena copies", ArenaCopies},
      {Fault::kReuse, "all copies", AllCopies},
      {Fault::kOther, "arena space", ArenaSpace},
      {Fault::kExtent, "type", Type},
      {Fault::kExtent, "dim symbol", DimSymbol},
      {Fault::kExtent, "extent value", ExtentValue},
      {Fault::kExtent, "extent's maker", ExtentMaker},
      {Fault::kReuse, "inplace", Inplace},
      {Fault::kReuse, "alias", Alias},
  };
  return kinds;
}

}  // namespace cgraph::mutants
