#include "compiler/check/calls/calls.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/check/calls/arguments.h"
#include "compiler/check/calls/overloads.h"
#include "compiler/check/expressions/resolve.h"
#include "compiler/check/names.h"
#include "compiler/check/scope/lookup.h"
#include "compiler/check/scope/scope.h"

namespace cgraph::check {

using namespace program;

namespace {

// The op or fn that a name means here, as the arguments choose it; null where it is none.
const Symbol* FindFunction(const Scope& scope, const syntax::Name& name,
                           const std::vector<syntax::Argument>& arguments) {
  if (!HasName(scope.module, name.text)) return nullptr;
  const Found found = FindName(scope.checker, scope.module, name.text, name.range);
  if (found.symbol == nullptr) return nullptr;
  const Symbol& chosen = ChooseOverload(scope.checker, *found.symbol, arguments);
  return WrittenParameters(scope.checker, chosen) == nullptr ? nullptr : &chosen;
}

// Returns whether the second parameter of an op or fn is a list, as that of reshape(x, [2, 3]).
bool TakesList(const Program& program, const Symbol& symbol) {
  const auto* const op = std::get_if<OpId>(&symbol.node);
  if (op == nullptr) return false;
  const std::vector<Parameter>& parameters = program.ops[*op].signature.parameters;
  return parameters.size() > 1 &&
         std::holds_alternative<ListType>(program.types[parameters[1].type].node);
}

bool IsNumber(const std::string& word) {
  return word.find_first_not_of("-0123456789") == std::string::npos;
}

// Rewrites `x.matmul(w)` as it is written here, `matmul(x, w)`, with the operands' own text where
// that is short: `x.reshape(2, 3)` as `reshape(x, [2, 3])`. Where the function does not take such
// arguments, what it takes stands there: `split(x, parts: ..., dim: ...)`.
std::string AsFunction(const Scope& scope, const syntax::CallExpr& node,
                       const syntax::FieldExpr& callee) {
  const auto text = [&](syntax::ExprId id) {
    constexpr size_t kLongest = 30;
    const Range range = scope.Written(id).range;
    const llvm::StringRef all = scope.checker.sources[range.source].text;
    const llvm::StringRef written = all.slice(range.begin, range.end);
    const bool fits = written.size() <= kLongest && !written.contains('\n');
    return fits ? written.str() : std::string("...");
  };
  std::vector<syntax::Argument> arguments = node.arguments;
  arguments.insert(arguments.begin(), syntax::Argument{std::nullopt, callee.base});
  std::vector<std::string> texts;
  for (const syntax::Argument& argument : arguments) {
    texts.push_back((argument.label ? argument.label->text + ": " : "") + text(argument.value));
  }
  const Symbol* const function = FindFunction(scope, callee.name, arguments);
  const bool is_labelled = std::any_of(arguments.begin(), arguments.end(),
                                       [](const auto& argument) { return argument.label; });
  const bool are_items =  // of the list that the function takes
      !is_labelled && (texts.size() > 2 || (texts.size() == 2 && IsNumber(texts[1])));
  if (function != nullptr && are_items && TakesList(scope.program, *function)) {
    const std::vector<std::string> items(texts.begin() + 1, texts.end());
    texts = {texts.front(), fmt::format("[{}]", fmt::join(items, ", "))};
  } else if (function != nullptr) {
    const auto& parameters = *WrittenParameters(scope.checker, *function);
    if (!Takes(parameters, arguments)) {
      texts.resize(1);
      for (size_t i = 1; i < parameters.size(); ++i) {
        if (parameters[i].default_value.valid()) continue;
        texts.push_back(parameters[i].name.text + ": ...");
      }
    }
  }
  return fmt::format("{}({})", callee.name.text, fmt::join(texts, ", "));
}

// Lists the first few methods: "it has `f` and `g`".
std::string ListOfMethods(const Program& program, const Actor& actor) {
  constexpr size_t kMost = 6;
  const std::vector<MethodId>& methods = actor.methods;
  if (methods.empty()) return "it has none";
  std::string list;
  for (size_t i = 0; i < std::min(methods.size(), kMost); ++i) {
    const bool last = i + 1 == methods.size();
    list += fmt::format("{}`{}`", i == 0 ? "" : last ? " and " : ", ",
                        program.methods[methods[i]].name);
  }
  return "it has " + list + (methods.size() > kMost ? ", ..." : "");
}

// Writes one place of an array: "stage[i]"; "x[0]" where it is an expression.
std::string OnePlace(const Program& program, ExprId receiver) {
  const auto* const array = std::get_if<PlaceRef>(&program.exprs[receiver].node);
  if (array == nullptr) return "x[0]";
  const Place& place = program.places[array->place];
  return place.name + Subscripts(place);
}

// Returns whether a place of the actor says `trained by`, be it right or wrong.
bool IsWrittenTrained(const Checker& checker, ActorId actor) {
  for (PlaceId id : checker.program.places.Ids()) {
    const bool says = checker.places[id].decl->trained_by.valid();
    if (says && checker.program.places[id].actor == actor) return true;
  }
  return false;
}

bool HasMethod(const Scope& scope, ActorId actor, const std::string& name) {
  return actor.valid() && FindMethod(scope.program, actor, name).valid();
}

// Reports `net.f.remote(x)`, as Ray calls a method of an actor.
bool RefuseRemote(Scope& scope, const syntax::FieldExpr& callee) {
  const auto* method = std::get_if<syntax::FieldExpr>(&scope.Written(callee.base).node);
  if (method == nullptr || callee.name.text != "remote") return false;
  const StaticType type = ResolveValue(scope, method->base).type;
  if (!HasMethod(scope, type.actor, method->name.text)) return false;
  const Range range = scope.Written(callee.base).range;
  scope
      .Report(Code::kE0306, callee.name.range,
              fmt::format("there is no `remote`: a call of a method runs where its place is: "
                          "{}(...)",
                          scope.checker.sources.Text(range)))
      .AddFix({range.source, range.end, callee.name.range.end}, "");
  return true;
}

std::optional<MethodId> FindMethodOf(Scope& scope, const Value& receiver,
                                     const syntax::CallExpr& node,
                                     const syntax::FieldExpr& callee) {
  const syntax::Name& name = callee.name;
  const StaticType& type = receiver.type;
  if (!type.known()) return std::nullopt;
  if (type.kind == StaticType::kPlaces) {
    const Range range = scope.program.exprs[receiver.id].range;
    Diagnostic hint{};
    if (scope.checker.Translate(hint, Range(), name.text, NamePosition::kBehindDot) &&
        !HasMethod(scope, type.actor, name.text)) {
      scope.Report(Code::kE0306, name.range,
                   fmt::format("places have no `{}`{}", name.text, hint.message));
      return std::nullopt;
    }
    const bool updates = name.text == kUpdateMethod && type.actor.valid() &&
                         IsWrittenTrained(scope.checker, type.actor);
    const std::string all =
        updates ? fmt::format("update_all({}, ...) updates all of them; ",
                              scope.checker.sources.Text(range))
                : "";
    scope.Report(
        Code::kE0306, range,
        fmt::format("this is {}; {}a method is called on one of them: {}.{}(...), or in a loop",
                    scope.Describe(type), all, OnePlace(scope.program, receiver.id), name.text));
    return std::nullopt;
  }
  if (type.kind != StaticType::kPlace) {
    const std::string file = LibraryFileOf(scope.checker, name.text);
    const bool is_function = HasName(scope.module, name.text) || !file.empty();
    Diagnostic& diagnostic =
        scope.Report(Code::kE0306, name.range,
                     fmt::format("only places have methods, and this is {}{}", scope.Describe(type),
                                 is_function ? "; write " + AsFunction(scope, node, callee) : ""));
    if (is_function && !HasName(scope.module, name.text)) diagnostic.message += " of std." + file;
    if (!is_function && !TranslateCollective(diagnostic, Range(), name.text)) {
      scope.checker.Translate(diagnostic, Range(), name.text, NamePosition::kBehindDot);
    }
    return std::nullopt;
  }
  if (!type.actor.valid()) return std::nullopt;
  MethodId id = FindMethod(scope.program, type.actor, name.text);
  if (id.valid()) return id;
  // Which places are meant, and what `update` of their optimizer takes, is known while elaborating.
  if (name.text == kUpdateMethod && IsWrittenTrained(scope.checker, type.actor)) {
    return std::nullopt;
  }
  if (scope.checker.names_missing) return std::nullopt;
  const Actor& actor = scope.program.actors[type.actor];
  const auto candidates = [&] {
    std::vector<std::string> names;
    for (MethodId method : actor.methods) names.push_back(scope.program.methods[method].name);
    return names;
  };
  Diagnostic& diagnostic =
      scope.Report(Code::kE0312, name.range,
                   fmt::format("actor `{}` has no method `{}`", actor.name, name.text));
  const bool is_foreign =
      scope.checker.Translate(diagnostic, Range(), name.text, NamePosition::kBehindDot);
  if (!is_foreign) scope.checker.Suggest(diagnostic, name.range, name.text, candidates);
  if (!is_foreign && diagnostic.fixes.empty()) {
    diagnostic.message += "; " + ListOfMethods(scope.program, actor);
  }
  if (name.text == kUpdateMethod) {
    diagnostic.message += "; `trained by adamw()` behind a place of it gives the place one";
  }
  diagnostic.AddNote(actor.range, "the actor is declared here");
  return std::nullopt;
}

}  // namespace

std::string Subscripts(const Place& place) {
  std::string indices;
  for (const IndexRange& index : place.indices) {
    indices += (indices.empty() ? "" : ", ") + index.name;
  }
  return indices.empty() ? "" : "[" + indices + "]";
}

Value ResolveMethodCall(Scope& scope, const syntax::CallExpr& node, const syntax::FieldExpr& callee,
                        Range range) {
  if (IsSelf(scope, callee.base)) return RefuseOwnMethod(scope, node, callee.name.range, range);
  if (const syntax::Expr* qualifier = UnknownQualifier(scope, callee.base)) {
    ResolveArgumentsOfUnknown(scope, node.arguments);
    return ReportUnknownPath(scope, *qualifier, callee.name, range);
  }
  if (RefuseRemote(scope, callee)) {
    ResolveArguments(scope, node.arguments);
    return scope.Poison(range);
  }
  Value receiver = ResolveValue(scope, callee.base);
  std::optional<MethodId> id = FindMethodOf(scope, receiver, node, callee);
  RefuseTypeArgument(scope, node, "a method");
  Arguments given = ResolveArguments(scope, node.arguments);
  StaticType type;
  if (id) {
    const Method& method = scope.program.methods[*id];
    type = CheckArguments(scope, given,
                          {"method `" + method.name + "`", &method.signature.parameters,
                           &method.signature, &method.body.locals, method.range},
                          range);
  }
  program::CallMethod call;
  call.receiver = receiver.id;
  call.name = callee.name.text;
  call.name_range = callee.name.range;
  call.arguments = std::move(given.arguments);
  return scope.Make(std::move(call), range, std::move(type));
}

}  // namespace cgraph::check
