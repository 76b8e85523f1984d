#include "compiler/elaborate/elaborate.h"

#include <exception>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/base/limits.h"
#include "compiler/cost/topology.h"
#include "compiler/elaborate/calls/arguments.h"
#include "compiler/elaborate/calls/calls.h"
#include "compiler/elaborate/calls/method_scope.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/gradients/copies/copies.h"
#include "compiler/elaborate/places/places.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/steps.h"
#include "compiler/elaborate/types/coerce.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/SaveAndRestore.h"
#include "llvm/Support/thread.h"
#include "runtime/base/text.h"

namespace cgraph {
namespace elaborate {
namespace {

// Bytes of stack: reserved, but not used unless a program nests as deep as the limits allow.
constexpr unsigned kStackBytes = 512u << 20;

// Runs on a stack of its own, since programs nest deeper than the caller's stack may allow.
// Exceptions are rethrown here.
void OnLargeStack(llvm::function_ref<void()> run) {
  std::exception_ptr error;
  llvm::thread worker(llvm::Optional<unsigned>(kStackBytes), [&] {
    try {
      run();
    } catch (...) {
      error = std::current_exception();
    }
  });
  worker.join();
  if (error) std::rethrow_exception(error);
}

// Makes the call that gives a state its initial value: its ops, then the copy that commits it.
void InitialiseState(ElaborationContext& elaboration, const program::State& state,
                     const std::string& name, const Value& layout, Frame& frame) {
  MethodScope scope{MakeCall(elaboration, frame.instance, "state " + name,
                             elaboration.module.instances[frame.instance].device, state.range)};
  llvm::SaveAndRestore<MethodScope*> inside(elaboration.method, &scope);
  Value value = Evaluate(elaboration, state.value, frame, {state.type, &frame});
  value = Coerce(elaboration, value, state.type, frame, {"state", &state.name, state.range},
                 elaboration.program.exprs[state.value].range);
  if (value.poisoned()) return;
  StoreState(elaboration, layout, value, state.range);
  CommitStates(elaboration, scope);
}

// Gives the slots of an optimizer their initial values, after the params that these may read.
void InitialiseSlots(ElaborationContext& elaboration, graph::InstanceId id,
                     const Training& training) {
  const program::Optimizer& optimizer = elaboration.program.optimizers[training.optimizer];
  for (const auto& [param, layouts] : training.slots) {
    for (size_t i = 0; i < layouts.size() && !elaboration.budget.stopped; ++i) {
      const program::State& slot = elaboration.program.states[optimizer.slots[i]];
      Frame frame = UpdateFrame(elaboration, id, param);
      const Value tensor(ReadState(elaboration, param));
      if (!BindParameters(elaboration, {optimizer.signature.parameters[0]},
                          {{"", tensor, slot.range}}, frame, slot.range)) {
        return;
      }
      const std::string name = elaboration.module.states[param].name + "." + slot.name;
      InitialiseState(elaboration, slot, name, layouts[i], frame);
    }
  }
}

// Makes one call per state, in declaration order.
void ElaborateStart(ElaborationContext& elaboration) {
  elaboration.module.start.name = "start";
  GraphBuilder builder(elaboration.module, elaboration.module.start, elaboration.budget);
  llvm::SaveAndRestore<GraphBuilder*> building(elaboration.builder, &builder);
  llvm::SaveAndRestore<bool> starting(elaboration.in_start, true);
  for (graph::InstanceId id : elaboration.module.instances.Ids()) {
    InstanceDetails& details = elaboration.places.instances[id.index];
    const std::vector<program::StateId>& states = elaboration.program.actors[details.actor].states;
    for (size_t i = 0; i < states.size() && !elaboration.budget.stopped; ++i) {
      const program::State& state = elaboration.program.states[states[i]];
      InitialiseState(elaboration, state, state.name, details.layout[i], details.frame);
    }
    if (details.training) InitialiseSlots(elaboration, id, *details.training);
    if (details.object.valid()) CreateObject(elaboration, id);
  }
}

std::vector<program::GraphId> SelectGraphs(ElaborationContext& elaboration) {
  std::vector<program::GraphId> selected;
  std::vector<std::string> names;
  auto needs_argument = [&](const program::Parameter& parameter) {
    const auto& type = elaboration.program.types[parameter.type].node;
    return std::holds_alternative<program::CompileTimeType>(type) &&
           !parameter.default_value.valid();
  };
  std::vector<std::string> wanted = elaboration.options.graphs;
  for (std::string& name : wanted) {  // what stands before rounds comes with them
    const llvm::StringRef before = name;
    if (before.endswith(kBefore)) name = before.drop_back(llvm::StringRef(kBefore).size()).str();
  }
  for (program::GraphId id : elaboration.program.graphs.Ids()) {
    const program::Graph& graph = elaboration.program.graphs[id];
    if (graph.range.source != elaboration.program.main) continue;
    names.push_back(graph.name);
    bool asked = llvm::is_contained(wanted, graph.name);
    // A graph that only other graphs can call is left out unless it was asked for.
    bool runs = llvm::none_of(graph.signature.parameters, needs_argument);
    if (asked || (wanted.empty() && runs)) selected.push_back(id);
  }
  for (const std::string& name : wanted) {
    if (llvm::is_contained(names, name)) continue;
    Report(
        elaboration, Code::kE0526, Range(),
        fmt::format("the file has no graph `{}`{}; it has {}", name,
                    DidYouMeanHint(name, names),
                    names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
  }
  return selected;
}

// Warns of places that are `trained by` an optimizer and that no graph updates, of an array by the
// first.
void WarnOfNeverUpdated(ElaborationContext& elaboration) {
  if (!elaboration.options.graphs.empty()) return;  // another graph may do it
  std::set<program::PlaceId> updated, reported;
  for (graph::InstanceId id : elaboration.updated) {
    updated.insert(elaboration.places.instances[id.index].place);
  }
  for (graph::InstanceId id : elaboration.module.instances.Ids()) {
    const InstanceDetails& details = elaboration.places.instances[id.index];
    if (!details.training || elaboration.updated.count(id) != 0) continue;
    // W0509 tells of copies.
    const bool is_copy = !elaboration.program.places[details.place].along.empty();
    if (is_copy && updated.count(details.place) != 0) continue;
    if (!reported.insert(details.place).second) continue;  // once for an array
    const program::Place& place = elaboration.program.places[details.place];
    Report(elaboration, Code::kW0510, place.trained->range,
           fmt::format("no graph updates `{0}`, which is `trained by` an optimizer; {1}grad(loss, "
                       "of: {2}), rate: r) does",
                       elaboration.module.instances[id].name,
                       details.indices.empty() ? place.name + ".update("
                                               : fmt::format("update_all({}, ", place.name),
                       place.name));
  }
}

void ElaborateProgram(ElaborationContext& elaboration) {
  MakePlaces(elaboration);
  if (elaboration.diagnostics.has_errors()) return;
  ElaborateStart(elaboration);
  for (program::GraphId id : SelectGraphs(elaboration)) {
    if (!elaboration.budget.stopped) ElaborateGraph(elaboration, id);
  }
  if (elaboration.diagnostics.has_errors()) return;
  CheckTopologies(elaboration.program, elaboration.options, elaboration.diagnostics);
  if (elaboration.diagnostics.has_errors()) return;
  WarnOfNeverUpdated(elaboration);
  WarnOfCopiesTrainedApart(elaboration);
  CheckSchedules(elaboration);
  CheckUncalledMethods(elaboration.program, elaboration.options, elaboration.called,
                       elaboration.diagnostics);
}

// Blames -D for the first error of a program that compiles without it. `refused`: as it was
// elaborated with what -D says.
void BlameDefines(const program::Program& program, const ElaborateOptions& options,
                  const graph::Module& refused, Diagnostics& diagnostics) {
  Diagnostic* first = diagnostics.first_error();
  if (options.defines.empty() || !first || first->code == Code::kE0501 ||
      first->code == Code::kE0502) {
    return;
  }
  ElaborateOptions usual = options;
  usual.defines.clear();
  Diagnostics without(diagnostics.sources());
  ElaborationContext elaboration(program, usual, without);
  ElaborateProgram(elaboration);
  if (without.has_errors()) return;
  std::vector<std::string> values;
  for (program::ConstId id : program.consts.Ids()) {
    const std::string& name = program.consts[id].option;
    const auto define = options.defines.find(name);
    if (name.empty() || define == options.defines.end()) continue;
    const std::string own = ScalarText(ConstValue(elaboration, id));
    // What -D says may be what the file says.
    if (llvm::is_contained(refused.parameters, std::pair(name, own))) continue;
    values.push_back(
        fmt::format("-D {}={}, which is {} in the file", name, define->second, own));
  }
  if (values.empty()) return;
  first->AddNote(Range(), fmt::format("the program compiles without {}", fmt::join(values, ", ")));
}

}  // namespace

void MakePlaces(ElaborationContext& elaboration) {
  InternDevice(elaboration, LogicalDevice());
  EvaluateConsts(elaboration);
  EvaluateTransports(elaboration);
  CreatePlaces(elaboration);
  NameCopies(elaboration);
}

}  // namespace elaborate

std::optional<cost::Topology> ElaborateTopology(const program::Program& program,
                                                const ElaborateOptions& options,
                                                Diagnostics& diagnostics) {
  if (!program.topology) return cost::AssumedTopology();
  std::optional<cost::Topology> made;
  elaborate::OnLargeStack([&] {
    elaborate::ElaborationContext elaboration(program, options, diagnostics);
    elaboration.consts.resize(
        program.consts.size());  // what -D says wrongly is said of the program
    const program::TopologyUse& use = *program.topology;
    made = elaborate::MakeTopology(elaboration, program.topologies[use.topology], use.arguments,
                                   &use.locals, use.range);
  });
  return made;
}

graph::Module Elaborate(const program::Program& program, const ElaborateOptions& options,
                        Diagnostics& diagnostics) {
  graph::Module module;
  elaborate::OnLargeStack([&] {
    elaborate::ElaborationContext elaboration(program, options, diagnostics);
    elaborate::ElaborateProgram(elaboration);
    module = std::move(elaboration.module);
    elaborate::BlameDefines(program, options, module, diagnostics);
  });
  return module;
}

}  // namespace cgraph
