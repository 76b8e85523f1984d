#include "tests/mutants/mutate.h"

namespace cgraph::mutants {

uint64_t Random::Next() {  // SplitMix64
  uint64_t x = state_ += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

const std::vector<MutationKind>& MutationKinds() {
  static const std::vector<MutationKind> kinds = [] {
    std::vector<MutationKind> all;
    for (const auto* some : {&LaneMutations(), &TransferMutations(), &MemoryMutations()}) {
      all.insert(all.end(), some->begin(), some->end());
    }
    return all;
  }();
  return kinds;
}

void SuspectBuffer(Damage& damage, uint32_t buffer) {
  const plan::Graph& graph = damage.graph;
  const auto touches = [&](uint32_t first, uint32_t count) {
    for (uint32_t i = first; i < first + count; ++i) {
      if (graph.values[graph.operands[i]].buffer() == buffer) {
        return true;
      }
    }
    return false;
  };
  for (uint32_t i = 0; i < graph.instructions.size(); ++i) {
    const plan::Instruction& instruction = graph.instructions[i];
    bool touched = false;
    if (instruction.kind() == plan::Kind::comm) {
      for (uint32_t p = 0; p < instruction.inputs(); ++p) {
        const plan::CommPart& part = graph.parts[instruction.first() + p];
        touched = touched || touches(part.first(), uint32_t{part.inputs()} + part.outputs());
      }
    } else if (instruction.kind() != plan::Kind::wait && instruction.kind() != plan::Kind::signal) {
      touched =
          touches(instruction.first(), uint32_t{instruction.inputs()} + instruction.outputs());
    }
    if (touched) {
      damage.suspects.insert(i);
    }
  }
}

}  // namespace cgraph::mutants
