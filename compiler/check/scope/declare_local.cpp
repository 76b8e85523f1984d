#include "compiler/check/scope/scope.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "llvm/ADT/STLExtras.h"
#include "runtime/base/text.h"

namespace cgraph::check {

using namespace program;

bool IsParameter(const Scope& scope, LocalId id) {
  const auto is = [&](const Parameter& parameter) { return parameter.local == id; };
  if (scope.signature && llvm::any_of(scope.signature->parameters, is)) return true;
  if (scope.optimizer.valid()) {
    const Optimizer& optimizer = scope.program.optimizers[scope.optimizer];
    return id.index < optimizer.parameters.size();
  }
  return scope.actor.valid() && llvm::any_of(scope.program.actors[scope.actor].parameters, is);
}

namespace {

// Says what is written instead of a name that would hide a local: an assignment is advised where a
// statement may have meant one.
std::string MendOfHidden(const Scope& scope, const std::string& name, LocalId hidden,
                         LocalKind kind) {
  if (kind == LocalKind::kFixed) return "choose another name";
  if (scope.names.row(hidden).is_var) {
    return fmt::format("`{} = ...` assigns to it, and another value takes another name", name);
  }
  if (IsParameter(scope, hidden)) {
    return fmt::format("choose another name; a parameter keeps its value, and `var y = {}` can be "
                       "assigned",
                       name);
  }
  return "choose another name, or assign to a `var`";
}

}  // namespace

LocalId DeclareLocal(Scope& scope, const syntax::Name& name, StaticType type, LocalKind kind) {
  const LocalId id = scope.names.AddRow({name.text, kind == LocalKind::kVar, name.range},
                                        std::move(type));
  if (name.text == "_") return id;  // takes a value that is not used
  if (name.text == "none") {
    scope.Report(
        Code::kE0318, name.range,
        "`none` fills a list element that is not yet assigned and cannot be declared; choose "
        "another name");
    return id;
  }
  Range first;
  bool is_state = false;
  std::string mend = "choose another name";
  if (const auto known = scope.names.Find(name.text)) {
    first = scope.names.row(*known).range;
    mend = MendOfHidden(scope, name.text, *known, kind);
  } else if (const auto dim = scope.dims.Find(name.text)) {
    first = scope.signature->dim_variables[*dim].range;
  } else if (const StateId state = scope.FindState(name.text); state.valid()) {
    is_state = true;
    first = scope.program.states[state].range;
  }
  if (first.valid()) {
    constexpr const char* kState =
        "`{0}` is a state of this {1} and would be hidden; `{0} = ...` assigns to it, and a "
        "value of this call takes another name";
    constexpr const char* kLocal =
        "`{}` is a name of this body already and would be hidden; {}";
    scope
        .Report(Code::kE0303, name.range,
                is_state ? fmt::format(kState, name.text,
                                       scope.actor.valid() ? "actor" : "optimizer")
                         : fmt::format(kLocal, name.text, mend))
        .AddNote(first, "it is declared here");
  }
  scope.names.SetMeaning(name.text, id);
  return id;
}

std::vector<LocalId> DeclarePattern(Scope& scope, const std::vector<syntax::Name>& names,
                                    bool tuple, Range range, const StaticType& type, LocalKind kind,
                                    const char* mend) {
  std::vector<StaticType> parts(names.size());
  if (!tuple) {
    parts[0] = type;
  } else if (type.kind == StaticType::kTuple) {
    if (type.parts.size() == names.size()) {
      parts = type.parts;
    } else {
      scope.Report(Code::kE0417, range,
                   fmt::format("the pattern has {} and the tuple {}", Counted(names.size(), "name"),
                               type.parts.size()));
    }
  } else if (type.kind == StaticType::kList) {
    parts.assign(names.size(), type.parts[0]);
  } else if (type.known()) {
    scope.Report(Code::kE0417, range,
                 fmt::format("a pattern of several names takes a tuple or a list; this is {}{}",
                             scope.Describe(type), mend));
  }
  std::vector<LocalId> locals;
  for (size_t i = 0; i < names.size(); ++i) {
    const bool is_var = kind == LocalKind::kVar;
    // A name that stands twice in one pattern was meant to be two.
    const bool again = std::any_of(names.begin(), names.begin() + static_cast<ptrdiff_t>(i),
                                   [&](const auto& name) { return name.text == names[i].text; });
    locals.push_back(DeclareLocal(scope, names[i], is_var ? StaticType() : parts[i],
                                  again && !is_var ? LocalKind::kFixed : kind));
  }
  return locals;
}

void InheritActor(Scope& scope, ActorId actor) {
  for (const Parameter& parameter : scope.program.actors[actor].parameters) {
    DeclareLocal(scope, {parameter.name, parameter.range}, scope.Declared(parameter.type),
                 LocalKind::kFixed);
  }
  scope.actor = actor;  // last: a state with the name of a parameter was reported at the actor
}

}  // namespace cgraph::check
