#include "compiler/elaborate/steps.h"

#include <fmt/format.h>

#include "compiler/elaborate/calls/calls.h"
#include "compiler/elaborate/calls/method_scope.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/places/places.h"
#include "compiler/elaborate/types/coerce.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SaveAndRestore.h"

namespace cgraph::elaborate {
namespace {

constexpr size_t kMostPlaces = 8;      // of one actor that are tried
constexpr int64_t kAnyExtent = 4096;   // stands for an unknown dimension; no check depends on it

// Returns whether a code is about static numbers. All other faults may come from the values that
// are unknown here.
bool IsCertain(Code code) {
  switch (code) {
    case Code::kE0503:
    case Code::kE0504:
    case Code::kE0507:
    case Code::kE0511:
    case Code::kE0513:
    case Code::kE0515:
    case Code::kE0517: return true;
    default: return false;
  }
}

// Makes a symbol for every dimension that a call's arguments would give.
void BindFreeDims(ElaborationContext& elaboration, program::TypeId id, Frame& frame) {
  const program::Type& type = elaboration.program.types[id];
  if (auto* list = std::get_if<program::ListType>(&type.node)) {
    return BindFreeDims(elaboration, list->element, frame);
  }
  if (auto* tuple = std::get_if<program::TupleType>(&type.node)) {
    for (const program::TupleType::Field& field : tuple->fields) {
      BindFreeDims(elaboration, field.type, frame);
    }
  }
  auto* tensor = std::get_if<program::TensorType>(&type.node);
  for (const program::Dim& dim : tensor ? tensor->dims : std::vector<program::Dim>()) {
    if (!dim.variable.valid() || dim.kind == program::Dim::kRun) continue;
    std::optional<BoundDims>& bound = frame.dims[dim.variable.index];
    if (bound) continue;
    const std::string& name = frame.signature->dim_variables[dim.variable].name;
    const graph::SymbolId symbol = elaboration.builder->AddInputSymbol(name, kAnyExtent, dim.range);
    bound = BoundDims{{graph::Dim{kAnyExtent, symbol}}, nullptr, dim.range};
  }
}

Value ArgumentFor(ElaborationContext& elaboration, const program::Parameter& parameter,
                  Frame& frame) {
  const auto& type = elaboration.program.types[parameter.type].node;
  if (!std::holds_alternative<program::CompileTimeType>(type)) {
    return AddInput(elaboration, parameter.type, parameter.name, frame, parameter.range);
  }
  if (!parameter.default_value.valid()) return Value();
  return Coerce(elaboration, Evaluate(elaboration, parameter.default_value, frame), parameter.type,
                frame, {"parameter", &parameter.name, parameter.range}, parameter.range);
}

void TryMethod(ElaborationContext& elaboration, const program::Method& method,
               graph::InstanceId id) {
  graph::Graph graph;
  graph.range = method.range;  // whose call is noted in no message
  GraphBuilder builder(elaboration.module, graph, elaboration.budget);
  llvm::SaveAndRestore<GraphBuilder*> building(elaboration.builder, &builder);
  Frame frame = FrameOf(elaboration, method, id);
  const std::vector<program::Parameter>& parameters = method.signature.parameters;
  for (const program::Parameter& parameter : parameters)
    BindFreeDims(elaboration, parameter.type, frame);
  for (const program::Parameter& parameter : parameters) {
    frame.locals[parameter.local.index] = ArgumentFor(elaboration, parameter, frame);
  }
  for (const std::optional<BoundDims>& dims : frame.dims) frame.rigid.push_back(dims.has_value());
  const graph::DeviceId device = elaboration.module.instances[id].device;
  MethodScope scope{MakeCall(elaboration, id, method.name, device, method.range)};
  llvm::SaveAndRestore<MethodScope*> inside(elaboration.method, &scope);
  if (method.native) {
    CallExtern(elaboration, method, frame, method.range);
  } else {
    CallBody(elaboration, method.signature, method.body, frame, method.range);
  }
}

struct Suspect {
  program::MethodId method;
  std::string name;                // "a.forward"
  std::vector<Diagnostic> faults;  // at the first place
};

// Returns the places of an actor, at most as many as are tried.
std::vector<graph::InstanceId> PlacesOf(const ElaborationContext& elaboration,
                                        program::ActorId actor) {
  std::vector<graph::InstanceId> places;
  for (graph::InstanceId id : elaboration.module.instances.Ids()) {
    if (elaboration.places.instances[id.index].actor != actor) continue;
    places.push_back(id);
    if (places.size() == kMostPlaces) break;
  }
  return places;
}

// Tries each suspect at place number `turn` of its actor. Methods that are right there are dropped.
// For methods without such a place all places were wrong: their faults are reported.
void Try(const program::Program& program, const ElaborateOptions& options, size_t turn,
         std::vector<Suspect>& suspects, const Sources& sources) {
  Diagnostics found(sources);
  ElaborationContext elaboration(program, options, found);
  elaboration.speculative = true;
  MakePlaces(elaboration);
  llvm::erase_if(suspects, [&](Suspect& suspect) {
    const program::Method& method = program.methods[suspect.method];
    const std::vector<graph::InstanceId> places = PlacesOf(elaboration, method.actor);
    if (turn >= places.size()) return turn == 0;
    const size_t before = found.all().size();
    TryMethod(elaboration, method, places[turn]);
    std::vector<Diagnostic> faults;
    for (size_t i = before; i < found.all().size(); ++i) {
      if (IsCertain(found.all()[i].code)) faults.push_back(found.all()[i]);
    }
    const bool wrong = !faults.empty() && !elaboration.budget.stopped;
    if (wrong && turn == 0) {
      suspect.faults = std::move(faults);
      suspect.name = elaboration.module.instances[places[turn]].name + "." + method.name;
    }
    return !wrong;
  });
}

}  // namespace

void CheckUncalledMethods(const program::Program& program, const ElaborateOptions& options,
                          const std::set<program::MethodId>& called, Diagnostics& diagnostics) {
  std::vector<Suspect> suspects;
  for (program::MethodId id : program.methods.Ids()) {
    const bool own = program.methods[id].range.source == program.main;
    if (own && called.count(id) == 0) suspects.push_back({id, "", {}});
  }
  for (size_t turn = 0; turn < kMostPlaces && !suspects.empty(); ++turn) {
    Try(program, options, turn, suspects, diagnostics.sources());
  }
  for (Suspect& suspect : suspects) {
    for (Diagnostic& fault : suspect.faults) {
      Diagnostic& diagnostic = diagnostics.Report(fault.code, fault.range, fault.message);
      diagnostic.notes = std::move(fault.notes);
      diagnostic.fixes = std::move(fault.fixes);
      diagnostic.AddNote(program.methods[suspect.method].range,
                         fmt::format("`{}`, which no graph calls, is wrong as it is declared",
                                     suspect.name));
    }
  }
}

}  // namespace cgraph::elaborate
