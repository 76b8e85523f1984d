// Poison: for each instruction the poison flag that it writes and those that it checks before it
// runs.
//
// The instructions of one method call on one lane share a poison flag, since a method call is
// atomic: its first instruction checks everything that the whole call reads from outside, so that a
// call with one poisoned argument changes nothing. Every instruction also checks what it reads
// itself. A copy, input, output or call without a method has a poison flag of its own, and so has
// every received message. State, constants and input values are never poisoned.
#ifndef CGRAPH_RUNTIME_LOAD_POISON_POISON_H_
#define CGRAPH_RUNTIME_LOAD_POISON_POISON_H_

#include <cstdint>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/plan/graph_index.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {

struct PoisonFlags {
  uint32_t count = 0;
  std::vector<uint32_t> of_instruction;  // none for comm, signal, wait
  std::vector<uint32_t> of_part;         // none for sends
  std::vector<std::vector<uint32_t>> checks_of_instruction;
  std::vector<std::vector<uint32_t>> checks_of_part;
  std::vector<uint32_t> setters;         // per flag: the device that sets it
  // Per flag: whether an execution that was submitted may set it, since something fails.
  std::vector<bool> may_fail;
};

// Returns whether an instruction may report an error itself: its kernel, or an extent beyond its
// bound. `given`: the symbols whose extents inputs have (GivenSymbols()).
bool MayReportError(const plan::GraphIndex& index, const std::vector<bool>& given, uint32_t i);
// Returns kUnsupported when the graph would need absurdly many checks.
Result<PoisonFlags> FindPoisonFlags(const plan::GraphIndex& index);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_LOAD_POISON_POISON_H_
