// Declarations that the parts of the check share: the context (for messages), the refusal, and each
// part's entry.
#ifndef CGRAPH_RUNTIME_PLAN_CHECK_CHECK_INTERNAL_H_
#define CGRAPH_RUNTIME_PLAN_CHECK_CHECK_INTERNAL_H_

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "runtime/base/status.h"
#include "runtime/plan/check.h"
#include "runtime/plan/graph_index.h"
#include "runtime/plan/plan.h"

namespace cgraph::plan::check {

struct Context {
  const Plan& plan;
  const Graph& graph;
  std::string name;  // "start graph", "graph `main`"
  bool start = false;
  std::span<const int64_t> kernel_operands;  // by kernel: how many operands its body uses
};

template <typename... Args>
Status Invalid(fmt::format_string<Args...> format, Args&&... args) {
  return Status(StatusCode::kInvalid, fmt::format(format, std::forward<Args>(args)...));
}
// Refuses the plan: "graph `main`: ...", and with the rule of docs/plan.md that is broken.
Status Refuse(const Context& context, const std::string& text);
Status Refuse(const Context& context, int rule, const std::string& text);
// Names an instruction: "gpu[0] comm: send `x` to gpu[1]".
std::string At(const Context& context, uint32_t instruction);
std::string ValueText(const Context& context, uint32_t value);

// Returns whether [first, first + count) lies in a table of `size` entries.
inline bool InRange(uint64_t first, uint64_t count, uint64_t size) {
  return first <= size && count <= size - first;
}
inline bool NoneOrIn(uint32_t index, size_t size) { return index == kNone || index < size; }
template <typename E>
bool Known(E value) {
  return value <= E::MAX;
}

bool SameType(const Graph& graph, uint32_t a, uint32_t b);

// Checks the module's own tables: devices, lanes, actors, kernels, communicators, names, sites.
Status CheckModule(const Plan& plan);
// Checks a graph's memory: arenas, buffers, values, symbols, constants (rules 5 and 6).
Status CheckMemory(const Context& context);
// Checks everything else that has an index: programs, ports, calls, channels, collectives, extents.
Status CheckTables(const Context& context);
// Checks each instruction by its kind: counts, indices, and what memory it may write.
Status CheckInstructions(const Context& context);
// Checks rules 1-3.
Status CheckEvents(const Context& context);
Status CheckChannels(const Context& context, const GraphIndex& index);
Status CheckCollectives(const Context& context, const GraphIndex& index);
// Check rules 4, 5 (operands of one instruction) and 7.
Status CheckExtents(const Context& context, const GraphIndex& index);
Status CheckOperands(const Context& context, const GraphIndex& index);
Status CheckWrittenBeforeRead(const Context& context, const GraphIndex& index);
Status CheckCaptures(const Context& context, const GraphIndex& index);
// Checks which ports a run reads and writes, of a graph that repeats.
Status CheckRepeat(const Context& context);
// Checks rule 16.
Status CheckMachines(const Context& context, const GraphIndex& index);

}  // namespace cgraph::plan::check

#endif  // CGRAPH_RUNTIME_PLAN_CHECK_CHECK_INTERNAL_H_
