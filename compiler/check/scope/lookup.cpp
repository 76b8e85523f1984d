#include "compiler/check/scope/lookup.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "compiler/check/calls/calls.h"
#include "compiler/check/expressions/resolve.h"
#include "compiler/check/names.h"
#include "compiler/check/scope/scope.h"
#include "compiler/check/types/types.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "runtime/base/kinds/logical_device.h"

namespace cgraph::check {

using namespace program;

namespace {

std::optional<Value> ResolveOwnName(Scope& scope, const std::string& name, Range range) {
  if (const TypeArgument* argument = scope.FindTypeArgument(name)) {
    Scope& outer = *argument->scope;
    ++scope.checker.named_type_parts;
    if (!MayExpandNames(scope.checker)) return scope.Poison(range);
    const auto before = std::exchange(outer.in_type, scope.in_type);
    const Value value = ResolveInt(outer, argument->value, "an argument of a type");
    outer.in_type = before;
    return value;
  }
  if (const auto id = scope.names.Find(name)) {
    scope.names.Use(*id);
    if (!scope.names.IsHidden(*id)) return scope.Make(LocalRef{*id}, range, scope.names.type(*id));
    scope
        .Report(
            Code::kE0316, range,
            fmt::format("`{}` is a parameter; a default value and an attribute are the same for "
                        "every call and can use consts only",
                        name))
        .AddNote(scope.names.row(*id).range, "declared here");
    return scope.Poison(range);
  }
  if (const StateId state = scope.FindState(name); state.valid()) {
    const TypeId type = scope.program.states[state].type;
    StaticType known = scope.Declared(type);
    if (known.kind == StaticType::kTensor && scope.actor.valid()) {
      known.declared = {type, nullptr, &scope.program.actors[scope.actor].locals};
    }
    return scope.Make(StateRef{state}, range, std::move(known));
  }
  const auto dim = scope.dims.Find(name);
  if (!dim) return std::nullopt;
  if (scope.in_type) scope.dims.AddUse(*dim, range);
  bool run = scope.signature->dim_variables[*dim].run;
  // In a body an extent may be dynamic; in types and costs it counts as an integer.
  bool integer = scope.in_type || scope.site == Site::kOp;
  StaticType type = StaticType::Of(run       ? StaticType::kDims
                                   : integer ? StaticType::kInt
                                             : StaticType::kUnknown);
  return scope.Make(DimRef{*dim}, range, type);
}

// Makes a new dimension variable, where the type being resolved may introduce one.
std::optional<Value> ResolveDimName(Scope& scope, const std::string& name, Range range) {
  if (std::isupper(static_cast<unsigned char>(name[0]))) return std::nullopt;
  Found found = FindName(scope.checker, scope.module, name, range);
  if (found.reported) return scope.Poison(range);
  if (found.symbol && std::holds_alternative<ConstId>(found.symbol->node)) {
    scope
        .Report(Code::kE0319, range,
                fmt::format("`{}` is declared in the file, but as a dimension a name with a small "
                            "initial is a dimension variable; give the const a capital initial",
                            name))
        .AddNote(found.symbol->range, "declared here");
    return scope.Poison(range);
  }
  std::optional<DimVariableId> id = DimVariable(scope, name, false, *scope.in_type, range);
  if (!id) return scope.Poison(range);
  scope.dims.AddUse(*id, range);
  return scope.Make(DimRef{*id}, range, StaticType::Of(StaticType::kInt));
}

// Finds a const; anything else of that name cannot be meant.
std::optional<Value> ResolveCallVariable(Scope& scope, const std::string& name, Range range) {
  if (!std::islower(static_cast<unsigned char>(name[0]))) return std::nullopt;
  const Found found = FindName(scope.checker, scope.module, name, range);
  const bool is_const = found.symbol && std::holds_alternative<ConstId>(found.symbol->node);
  if (found.reported || is_const) return std::nullopt;
  const LocalId id =
      DeclareLocal(scope, {name, range}, StaticType::Of(StaticType::kInt), LocalKind::kFixed);
  scope.call_variables->push_back(id);
  scope.names.Use(id);
  return scope.Make(LocalRef{id}, range, StaticType::Of(StaticType::kInt));
}

// Where `let` and `var` declare names in a body, from top to bottom; `end`: of the loop or branch.
void ListDeclared(const Scope& scope, const std::vector<syntax::StatementId>& ids, uint32_t end,
                  std::map<std::string, std::vector<DeclaredName>>& declared) {
  const auto list = [&](const syntax::Pattern& pattern) {
    for (const syntax::Name& name : pattern.names) declared[name.text].push_back({name.range, end});
  };
  for (syntax::StatementId id : ids) {
    const syntax::Statement& statement = scope.module.file.statements[id];
    const auto& node = statement.node;
    if (const auto* let = std::get_if<syntax::Let>(&node)) list(let->pattern);
    if (const auto* var = std::get_if<syntax::Var>(&node)) list(var->pattern);
    if (const auto* loop = std::get_if<syntax::For>(&node)) {
      ListDeclared(scope, loop->body, statement.range.end, declared);
    }
    if (const auto* rounds = std::get_if<syntax::Repeat>(&node)) {
      ListDeclared(scope, rounds->body, statement.range.end, declared);
    }
    if (const auto* branch = std::get_if<syntax::If>(&node)) {
      ListDeclared(scope, branch->then_body, statement.range.end, declared);
      ListDeclared(scope, branch->else_body, statement.range.end, declared);
    }
  }
}

const std::vector<DeclaredName>& DeclaredInBody(Scope& scope, const std::string& name) {
  if (!scope.declared_in_body) {
    scope.declared_in_body.emplace();
    if (scope.body) ListDeclared(scope, *scope.body, UINT32_MAX, *scope.declared_in_body);
  }
  static const std::vector<DeclaredName> kNone;
  const auto found = scope.declared_in_body->find(name);
  return found == scope.declared_in_body->end() ? kNone : found->second;
}

// Reports a name that a `let` or `var` declares elsewhere in the body: behind its use, or in a loop
// or a branch that has ended.
bool ReportDeclaredElsewhere(Scope& scope, const std::string& name, Range use) {
  const std::vector<DeclaredName>& declared = DeclaredInBody(scope, name);
  const uint32_t at = scope.as_if_behind.value_or(use.begin);
  const auto later = std::upper_bound(declared.begin(), declared.end(), at,
                                      [](uint32_t begin, const DeclaredName& each) {
                                        return begin < each.range.begin;
                                      });
  if (later != declared.end()) {
    scope
        .Report(Code::kE0301, use,
                fmt::format(
                    "`{}` is not declared yet: values flow from top to bottom, and what the next "
                    "execution needs of this one is kept in a state",
                    name))
        .AddNote(later->range, "it is declared here");
    return true;
  }
  const auto ended = std::find_if(declared.rbegin(), declared.rend(),
                                  [&](const DeclaredName& each) { return each.end <= at; });
  if (ended == declared.rend()) return false;
  scope
      .Report(Code::kE0301, use,
              fmt::format("`{0}` is not declared here: it ended with the loop or branch that "
                          "declares it; a `var {0} = ...` before that, assigned inside, keeps its "
                          "last value",
                          name))
      .AddNote(ended->range, "it is declared here");
  return true;
}

std::vector<std::string> NamesIn(const Scope& scope) {
  std::vector<std::string> names = VisibleNames(scope.module);
  scope.names.ListTo(names);
  scope.dims.ListTo(names);
  const auto add = [&](const std::vector<StateId>& states) {
    for (StateId id : states) names.push_back(scope.program.states[id].name);
  };
  if (scope.actor.valid()) add(scope.program.actors[scope.actor].states);
  if (scope.optimizer.valid()) add(scope.program.optimizers[scope.optimizer].slots);
  return names;
}

// Lists what may stand before `.name`: places with that method, imported files that declare it.
std::vector<std::string> OwnersOf(const Scope& scope, const std::string& name) {
  std::vector<std::string> owners;
  for (const Place& place : scope.program.places) {
    const bool has_method =
        place.actor.valid() && (FindMethod(scope.program, place.actor, name).valid() ||
                                (name == kUpdateMethod && place.trained));
    if (has_method && HasName(scope.module, place.name)) owners.push_back(place.name);
  }
  for (const Import& import : scope.module.imports) {
    if (import.module->names.count(name)) owners.push_back(import.qualifier);
  }
  return owners;
}

// Explains `qualifier.name` of another language.
bool Explain(Scope& scope, Diagnostic& hint, const std::string& qualifier, const std::string& name,
             Range path) {
  Checker& checker = scope.checker;
  if (TranslateCollective(hint, path, name) ||
      checker.Translate(hint, path, name, NamePosition::kBehindDot)) {
    return true;
  }
  Diagnostic of_qualifier{};
  if (!checker.Translate(of_qualifier, Range(), qualifier)) return false;
  const std::string file = LibraryFileOf(checker, name);
  const bool visible = HasName(scope.module, name);
  if (!visible && file.empty()) {
    hint = of_qualifier;
    return true;
  }
  hint.message = fmt::format(" (here it is `{}`", name) +
                 (visible ? ")" : fmt::format(", which `import std.{}` declares)", file));
  if (visible) hint.AddFix(path, name);
  return true;
}

// Explains how a device is written where a name means one: `gpu0`, `GPU`, `node1`. (`cuda` is among
// the words of other languages.)
void ExplainDevice(Diagnostic& diagnostic, const std::string& name, Range range) {
  const std::string lower = llvm::StringRef(name).lower();
  std::vector<std::string> words(std::begin(kDeviceKindNames) + 1, std::end(kDeviceKindNames));
  words.push_back("node");
  for (const std::string& word : words) {
    llvm::StringRef number = lower;
    if (!number.consume_front(word) || !llvm::all_of(number, llvm::isDigit)) continue;
    diagnostic.message += "; devices are written cpu[0], gpu[0], node[1].gpu[0]";
    if (number.empty()) {
      diagnostic.AddFix(range, word);
    } else if (word != "node") {  // node[1] alone is no device
      diagnostic.AddFix(range, fmt::format("{}[{}]", word, number.str()));
    }
  }
}

}  // namespace

Value ResolveName(Scope& scope, const std::string& name, Range range) {
  if (name == "none") return scope.Make(NoneLiteral(), range, StaticType());
  if (auto own = ResolveOwnName(scope, name, range)) return *own;
  if (scope.in_type) {
    if (auto dim = ResolveDimName(scope, name, range)) return *dim;
  }
  if (scope.call_variables != nullptr) {
    if (auto variable = ResolveCallVariable(scope, name, range)) return *variable;
  }
  Found found = FindName(scope.checker, scope.module, name, range);
  if (found.reported) return scope.Poison(range);
  if (found.symbol) return ResolveSymbol(scope, *found.symbol, name, range);
  return ReportUnknownName(scope, name, range);
}

Value ResolveSymbol(Scope& scope, const Symbol& symbol, const std::string& name, Range range) {
  if (const auto* id = std::get_if<ConstId>(&symbol.node)) {
    if (scope.of_const.valid()) scope.checker.const_uses[scope.of_const].push_back(*id);
    return scope.Make(ConstRef{*id}, range, scope.checker.const_types[*id]);
  }
  if (const auto* id = std::get_if<PlaceId>(&symbol.node)) {
    const Place& place = scope.program.places[*id];
    if (!scope.MayUsePlaces()) {
      scope
          .Report(
              Code::kE0316, range,
              fmt::format("`{}` is a place; only graphs, and fns that graphs call, can use places: "
                          "actors know nothing of each other",
                          name))
          .AddNote(symbol.range, "declared here");
      return scope.Poison(range);
    }
    StaticType type =
        StaticType::Of(place.indices.empty() ? StaticType::kPlace : StaticType::kPlaces);
    type.actor = place.actor;
    type.indices = static_cast<int>(place.indices.size());
    return scope.Make(PlaceRef{*id}, range, type);
  }
  const char* kind = std::holds_alternative<ActorId>(symbol.node)       ? "an actor"
                     : std::holds_alternative<OptimizerId>(symbol.node) ? "an optimizer"
                     : std::holds_alternative<GraphId>(symbol.node)     ? "a graph"
                     : std::holds_alternative<ScheduleId>(symbol.node)  ? "a schedule"
                     : std::holds_alternative<TopologyId>(symbol.node)  ? "a topology"
                     : std::holds_alternative<NamedTypeId>(symbol.node) ? "a type"
                     : std::holds_alternative<OpId>(symbol.node)        ? "an op"
                     : std::holds_alternative<TransportId>(symbol.node) ? "a transport"
                                                                        : "a fn";
  const bool is_called = std::holds_alternative<OpId>(symbol.node) ||
                         std::holds_alternative<FnId>(symbol.node) ||
                         std::holds_alternative<GraphId>(symbol.node);
  const std::string mend = std::holds_alternative<ActorId>(symbol.node)
                               ? "; methods are called on its places, declared outside of "
                                 "graphs: place x = Actor(...) on gpu[0]"
                           : std::holds_alternative<NamedTypeId>(symbol.node)
                               ? "; it stands behind a colon or an arrow: let x: " + name + " = ..."
                           : is_called ? fmt::format("; a call has parentheses: {}(...)", name)
                                       : "";
  scope.Report(Code::kE0305, range, fmt::format("`{}` is {}, not a value{}", name, kind, mend))
      .AddNote(symbol.range, "declared here");
  return scope.Poison(range);
}

bool IsOwnName(const Scope& scope, const std::string& name) {
  return scope.names.Find(name) || scope.dims.Find(name) || scope.FindState(name).valid() ||
         scope.FindTypeArgument(name) != nullptr;
}

const std::string* QualifierOf(const Scope& scope, syntax::ExprId id) {
  const auto* name = std::get_if<syntax::NameExpr>(&scope.Written(id).node);
  if (!name || IsOwnName(scope, name->name) || HasName(scope.module, name->name)) return nullptr;
  return IsQualifier(scope.module, name->name) ? &name->name : nullptr;
}

bool IsSelf(const Scope& scope, syntax::ExprId id) {
  const auto* name = std::get_if<syntax::NameExpr>(&scope.Written(id).node);
  return name && name->name == "self" && scope.actor.valid() && !IsOwnName(scope, name->name) &&
         !HasName(scope.module, name->name);
}

Value RefuseSelf(Scope& scope, const syntax::Name& field, Range range) {
  scope
      .Report(Code::kE0301, range,
              fmt::format("a method has no `self`: its actor's states are names, `{}`", field.text))
      .AddFix(range, field.text);
  return scope.Poison(range);
}

const syntax::Expr* UnknownQualifier(const Scope& scope, syntax::ExprId id) {
  const syntax::Expr* expr = &scope.Written(id);
  while (const auto* field = std::get_if<syntax::FieldExpr>(&expr->node)) {
    id = field->base;
    expr = &scope.Written(id);
  }
  const auto* name = std::get_if<syntax::NameExpr>(&expr->node);
  const bool known = name == nullptr || name->name == "none" || IsOwnName(scope, name->name) ||
                     HasName(scope.module, name->name) || IsQualifier(scope.module, name->name) ||
                     IsDeviceWord(scope, name->name) || IsSelf(scope, id);
  return known ? nullptr : expr;
}

Value ReportUnknownPath(Scope& scope, const syntax::Expr& qualifier, const syntax::Name& name,
                        Range range) {
  Checker& checker = scope.checker;
  const std::string& first = std::get<syntax::NameExpr>(qualifier.node).name;
  if (checker.names_missing) return scope.Poison(range);
  if (ReportDeclaredElsewhere(scope, first, qualifier.range)) return scope.Poison(range);
  Diagnostic near{};
  checker.Suggest(near, qualifier.range, first, [&] { return OwnersOf(scope, name.text); });
  Diagnostic hint{};
  const Range path{qualifier.range.source, qualifier.range.begin, name.range.end};
  const bool explained = near.fixes.empty() && Explain(scope, hint, first, name.text, path);
  Diagnostic& diagnostic = scope.Report(
      Code::kE0301, explained ? path : qualifier.range,
      fmt::format("`{}` is not declared{}",
                  explained ? checker.sources.Text(path) : first,
                  explained ? hint.message : near.message));
  diagnostic.fixes = explained ? hint.fixes : near.fixes;
  if (!explained && near.fixes.empty()) ExplainDevice(diagnostic, first, qualifier.range);
  return scope.Poison(range);
}

Value ReportUnknownName(Scope& scope, const std::string& name, Range range, const char* mend) {
  if (scope.checker.names_missing) return scope.Poison(range);
  if (IsDeviceWord(scope, name)) {
    const std::string kind = name == "node" ? "gpu" : name;
    scope.Report(Code::kE0421, range,
                 fmt::format("a device is written with its number: {0}[0], {0}[1]", kind));
    return scope.Poison(range);
  }
  if (scope.signature && scope.FindGeneric(name)) {
    scope.Report(Code::kE0305, range,
                 fmt::format("`{}` is a dtype variable, not a value; it can stand in types and in "
                             "width({})",
                             name, name));
    return scope.Poison(range);
  }
  if (IsQualifier(scope.module, name)) {
    scope.Report(
        Code::kE0305, range,
        fmt::format("`{0}` is an imported file, not a value; write `{0}.` and one of its names",
                    name));
    return scope.Poison(range);
  }
  if (ReportDeclaredElsewhere(scope, name, range)) return scope.Poison(range);
  Diagnostic& diagnostic =
      scope.Report(Code::kE0301, range, fmt::format("`{}` is not declared", name));
  if (scope.checker.Translate(diagnostic, range, name)) return scope.Poison(range);
  scope.checker.Suggest(diagnostic, range, name, [&] {
    std::vector<std::string> names = NamesIn(scope);
    // No op or fn is meant where one would be assigned to.
    if (*mend != '\0') llvm::erase_if(names, [&](auto& each) { return !IsOwnName(scope, each); });
    return names;
  });
  if (!diagnostic.fixes.empty()) return scope.Poison(range);
  const bool as_dim = scope.in_type && std::isupper(static_cast<unsigned char>(name[0]));
  diagnostic.message +=
      as_dim ? fmt::format("; a dimension with a capital initial is a const of the file, "
                           "`const {} = 64`, one with a small initial is bound at each call",
                           name)
             : mend;
  if (!scope.in_type && *mend == '\0') ExplainDevice(diagnostic, name, range);
  return scope.Poison(range);
}

}  // namespace cgraph::check
