#include "compiler/elaborate/elaborate.h"

#include "compiler/base/limits.h"
#include "compiler/elaborate/elaborator.h"
#include "compiler/graph/prune.h"
#include "fmt/format.h"
#include "llvm/Support/SaveAndRestore.h"
#include "llvm/Support/thread.h"
#include "runtime/status/spelling.h"

namespace cgraph {
namespace elaboration {
namespace {

// Reserved, not used, unless a program nests as deep as the limits allow.
constexpr unsigned kStackBytes = 512u << 20;

}  // namespace

graph::Module Elaborator::Run() {
  Intern({graph::DeviceKind::kCaller, 0, 0});
  EvaluateConsts();
  EvaluateTransports();
  CreatePlaces();
  if (diagnostics_.has_errors()) return std::move(module_);
  ElaborateStart();
  for (program::GraphId id : SelectGraphs()) {
    if (!stopped_) ElaborateGraph(id);
  }
  return std::move(module_);
}

// One call per state, in declaration order: its ops, then the copy that commits it.
void Elaborator::ElaborateStart() {
  module_.start.name = "start";
  GraphBuilder builder(module_, module_.start);
  llvm::SaveAndRestore<GraphBuilder*> building(builder_, &builder);
  llvm::SaveAndRestore<bool> starting(in_start_, true);
  for (graph::InstanceId id : module_.instances.Ids()) {
    InstanceDetails& details = instances_[id.index];
    const std::vector<program::StateId>& states = program_.actors[details.actor].states;
    for (size_t i = 0; i < states.size() && !stopped_; ++i) {
      const program::State& state = program_.states[states[i]];
      MethodScope scope{
          MakeCall(id, "state " + state.name, module_.instances[id].device, state.range)};
      llvm::SaveAndRestore<MethodScope*> inside(method_, &scope);
      Value value = Evaluate(state.value, details.frame, {state.type, &details.frame});
      value = Adapt(value, state.type, details.frame, {"state", &state.name, state.range},
                    program_.exprs[state.value].range);
      if (value.poisoned()) continue;
      StoreState(details.layout[i], value);
      CommitStates(scope);
    }
  }
}

std::vector<program::GraphId> Elaborator::SelectGraphs() {
  std::vector<program::GraphId> selected;
  std::vector<std::string> names;
  auto needs_argument = [&](const program::Parameter& parameter) {
    const auto& type = program_.types[parameter.type].node;
    return std::holds_alternative<program::CompileTimeType>(type) &&
           !parameter.default_value.valid();
  };
  for (program::GraphId id : program_.graphs.Ids()) {
    const program::Graph& graph = program_.graphs[id];
    if (graph.range.source != program_.main) continue;
    names.push_back(graph.name);
    bool asked = llvm::is_contained(options_.graphs, graph.name);
    // A graph that only others can call is left out unless it was asked for.
    bool runs = llvm::none_of(graph.signature.parameters, needs_argument);
    if (asked || (options_.graphs.empty() && runs)) selected.push_back(id);
  }
  for (const std::string& name : options_.graphs) {
    if (llvm::is_contained(names, name)) continue;
    Report(Code::kE0526, Range(),
           fmt::format("--graph {}: the file has no such graph{}", name,
                       DidYouMeanHint(name, names)));
  }
  return selected;
}

int64_t Elaborator::Inflight(const program::Graph& source) {
  int64_t inflight = options_.inflight;
  Range range = source.range;
  if (inflight == 0) {
    if (!source.inflight.valid()) return 1;
    Frame frame(source.name, nullptr, &source.body.locals);
    range = program_.exprs[source.inflight].range;
    inflight = EvaluateInt(source.inflight, frame, "inflight").value_or(1);
  }
  if (inflight >= 1 && inflight <= kMaxInflight) return inflight;
  Report(Code::kE0525, range,
         fmt::format("inflight is between 1 and {}, not {}", kMaxInflight, inflight));
  return 1;
}

void Elaborator::ElaborateGraph(program::GraphId id) {
  const program::Graph& source = program_.graphs[id];
  graph::Graph graph;
  graph.name = source.name;
  graph.range = source.range;
  graph.overlap = source.overlap;
  graph.timeout_ps = source.timeout_ps;
  graph.inflight = Inflight(source);
  GraphBuilder builder(module_, graph);
  llvm::SaveAndRestore<GraphBuilder*> building(builder_, &builder);
  Frame frame(source.name, &source.signature, &source.body.locals);
  const std::vector<program::Parameter>& parameters = source.signature.parameters;
  for (const program::Parameter& parameter : parameters) BindInputSymbols(parameter.type, frame);
  for (const program::Parameter& parameter : parameters) {
    bool is_fixed = parameter.default_value.valid() &&
                    std::holds_alternative<program::CompileTimeType>(
                        program_.types[parameter.type].node);
    frame.locals[parameter.local.index] =
        is_fixed ? Adapt(Evaluate(parameter.default_value, frame), parameter.type, frame,
                         {"parameter", &parameter.name, parameter.range}, parameter.range)
                 : AddInput(parameter.type, parameter.name, frame, parameter.range);
  }
  for (const std::optional<BoundDims>& dims : frame.dims) frame.rigid.push_back(dims.has_value());
  Value result = Inline(source.signature, source.body, frame, source.range);
  Range range = frame.result_range.valid() ? frame.result_range : source.range;
  if (source.signature.result.valid()) AddOutputs(result, "", range);
  if (diagnostics_.has_errors()) return;
  for (const graph::Call& call : Prune(graph)) {
    Report(Code::kW0501, call.site,
           fmt::format("nothing reads what `{}` makes, and it has no effect: it is removed",
                       call.instance.valid()
                           ? module_.instances[call.instance].name + "." + call.method
                           : call.method));
  }
  module_.graphs.push_back(std::move(graph));
}

}  // namespace elaboration

graph::Module Elaborate(const program::Program& program, const ElaborateOptions& options,
                        Diagnostics& diagnostics) {
  graph::Module module;
  llvm::thread worker(llvm::Optional<unsigned>(elaboration::kStackBytes), [&] {
    module = elaboration::Elaborator(program, options, diagnostics).Run();
  });
  worker.join();
  return module;
}

}  // namespace cgraph
