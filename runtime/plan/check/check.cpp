// The order in which a plan is checked: every index that a later part uses has been bounded by an
// earlier part.
#include "runtime/plan/check.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "runtime/plan/check/check_internal.h"
#include "runtime/plan/print.h"

namespace cgraph::plan {
namespace check {

Status Refuse(const Context& context, const std::string& text) {
  return Invalid("{}: {}", context.name, text);
}
Status Refuse(const Context& context, int rule, const std::string& text) {
  return Invalid("{}, rule {}: {}", context.name, rule, text);
}
std::string At(const Context& context, uint32_t instruction) {
  return fmt::format("{}: {}", LaneName(context.plan, LaneOf(context.graph, instruction)),
                     InstructionText(context.plan, context.graph, instruction));
}
std::string ValueText(const Context& context, uint32_t value) {
  const Graph& graph = context.graph;
  std::string name;
  if (value < graph.values.size() && graph.values[value].name() < context.plan.names.size()) {
    name = context.plan.names[graph.values[value].name()];
  }
  return fmt::format("`%{}#{}` {}", name, value, TypeText(context.plan, graph, value));
}

bool SameType(const Graph& graph, uint32_t a, uint32_t b) {
  const Value& x = graph.values[a];
  const Value& y = graph.values[b];
  if (x.dtype() != y.dtype() || x.rank() != y.rank()) return false;
  for (uint32_t d = 0; d < x.rank(); ++d) {
    const Dim& left = graph.dims[x.first_dim() + d];
    const Dim& right = graph.dims[y.first_dim() + d];
    if (left.extent() != right.extent() || left.symbol() != right.symbol()) return false;
  }
  return true;
}

namespace {

std::vector<int64_t> KernelOperands(const Plan& plan) {
  std::vector<int64_t> counts;
  counts.reserve(plan.kernels.size());
  for (const auto& kernel : plan.kernels) {
    int64_t count = 0;
    for (const auto& primitive : kernel->body) {
      for (int32_t operand : primitive->operands) count = std::max(count, int64_t{operand} + 1);
    }
    counts.push_back(count);
  }
  return counts;
}

Status CheckGraph(const Plan& plan, const Graph& graph, bool start,
                  std::span<const int64_t> kernel_operands) {
  const Context context{plan, graph, start ? "start graph" : fmt::format("graph `{}`", graph.name),
                        start, kernel_operands};
  if (graph.inflight == 0 || graph.inflight > kMaxInflight) {
    return Refuse(context, fmt::format("inflight is {} and must be 1 to {}", graph.inflight,
                                       kMaxInflight));
  }
  CGRAPH_RETURN_IF_ERROR(CheckMemory(context));
  CGRAPH_RETURN_IF_ERROR(CheckTables(context));
  if (graph.repeat != nullptr) CGRAPH_RETURN_IF_ERROR(CheckRepeat(context));
  CGRAPH_RETURN_IF_ERROR(CheckInstructions(context));
  CGRAPH_RETURN_IF_ERROR(CheckEvents(context));
  GraphIndex index(plan, graph);
  index.IndexMessages();
  CGRAPH_RETURN_IF_ERROR(CheckChannels(context, index));
  CGRAPH_RETURN_IF_ERROR(CheckCollectives(context, index));
  CGRAPH_RETURN_IF_ERROR(CheckExtents(context, index));
  CGRAPH_RETURN_IF_ERROR(CheckOperands(context, index));
  CGRAPH_RETURN_IF_ERROR(CheckWrittenBeforeRead(context, index));
  CGRAPH_RETURN_IF_ERROR(CheckCaptures(context, index));
  return CheckMachines(context, index);
}

// Checks that what stands before rounds is a graph, of one run alone, and hands on what they read.
// All graphs are checked by then.
Status CheckRuns(const Plan& plan) {
  std::set<uint32_t> before;
  for (const auto& graph : plan.graphs) {
    if (graph->repeat == nullptr || graph->repeat->before == kNone) continue;
    const Repeat& repeat = *graph->repeat;
    const auto refuse = [&](const char* what) {
      return Invalid("graph `{}`: repeat: {}", graph->name, what);
    };
    const Graph& first = *plan.graphs[repeat.before];
    if (first.repeat != nullptr) return refuse("the graph before repeats itself");
    if (!before.insert(repeat.before).second) return refuse("the graph before is another one's");
    if (first.inputs.size() != repeat.inputs) return refuse("the graph before has other inputs");
    for (uint32_t i = 0; i < repeat.inputs; ++i) {
      const Value& one = first.values[first.inputs[i]->value];
      const Value& other = graph->values[graph->inputs[i]->value];
      if (first.inputs[i]->name != graph->inputs[i]->name || one.dtype() != other.dtype() ||
          one.rank() != other.rank()) {
        return refuse("the graph before has other inputs");
      }
    }
    const size_t outputs = first.outputs.size();
    if (repeat.before_yields && outputs < repeat.outputs) return refuse("a row lacks outputs");
    for (uint32_t i = 0; repeat.before_yields && i < repeat.outputs; ++i) {
      const Value& one = first.values[first.outputs[i]->value];
      const Value& other = graph->values[graph->outputs[i]->value];
      const bool alike = first.outputs[i]->name == graph->outputs[i]->name &&
                         one.dtype() == other.dtype() && one.rank() == other.rank();
      if (!alike) return refuse("rows have other outputs");
    }
    if (!NoneOrIn(repeat.before_done, outputs)) return refuse("an output does not exist");
    if (repeat.before_done != kNone &&
        first.values[first.outputs[repeat.before_done]->value].dtype() != DType::bool_) {
      return refuse("the output that ends the rounds is no bool");
    }
    for (const Carry& carry : repeat.carries) {
      if (carry.first() >= outputs) return refuse("an output does not exist");
    }
  }
  return Status::Ok();
}

}  // namespace

Status CheckRepeat(const Context& context) {
  const Graph& graph = context.graph;
  const Repeat& repeat = *graph.repeat;
  const auto refuse = [&](const char* what) {
    return Refuse(context, fmt::format("repeat: {}", what));
  };
  if (context.start) return refuse("the start graph runs once");
  if (graph.inflight != 1) return refuse("inflight must be 1");
  if (!NoneOrIn(repeat.before, context.plan.graphs.size())) {
    return refuse("the graph before does not exist");
  }
  if (repeat.inputs > graph.inputs.size() || repeat.outputs > graph.outputs.size() ||
      repeat.done >= graph.outputs.size() || !NoneOrIn(repeat.limit_input, repeat.inputs)) {
    return refuse("a port does not exist");
  }
  if (graph.values[graph.outputs[repeat.done]->value].dtype() != DType::bool_) {
    return refuse("the output that ends the rounds is no bool");
  }
  if (repeat.limit_input != kNone) {
    const Value& limit = graph.values[graph.inputs[repeat.limit_input]->value];
    if (limit.dtype() != DType::i64 || limit.rank() != 0) return refuse("the limit is no i64");
  }
  std::set<uint32_t> given;
  for (const Carry& carry : repeat.carries) {
    if (carry.input() < repeat.inputs || carry.input() >= graph.inputs.size() ||
        !given.insert(carry.input()).second || !NoneOrIn(carry.next(), graph.outputs.size())) {
      return refuse("a port does not exist, or is given twice");
    }
  }
  if (given.size() != graph.inputs.size() - repeat.inputs) return refuse("an input is not given");
  if (!given.empty() && repeat.before == kNone) return refuse("nothing gives the first inputs");
  return Status::Ok();
}

}  // namespace check

Status CheckPlan(const Plan& plan) {
  CGRAPH_RETURN_IF_ERROR(check::CheckModule(plan));
  if (plan.start == nullptr) return check::Invalid("the plan has no start graph");
  const std::vector<int64_t> kernel_operands = check::KernelOperands(plan);
  CGRAPH_RETURN_IF_ERROR(check::CheckGraph(plan, *plan.start, true, kernel_operands));
  std::set<std::string_view> names;
  for (const auto& graph : plan.graphs) {
    if (graph == nullptr) return check::Invalid("the plan has an absent graph");
    if (!names.insert(graph->name).second) {
      return check::Invalid("two graphs are called `{}`", graph->name);
    }
    CGRAPH_RETURN_IF_ERROR(check::CheckGraph(plan, *graph, false, kernel_operands));
  }
  return check::CheckRuns(plan);
}

}  // namespace cgraph::plan
