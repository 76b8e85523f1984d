// Fields `t.scores` and subscripts `xs[i]`.
#include <algorithm>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "compiler/check/expressions/resolve.h"
#include "compiler/check/expressions/visit.h"
#include "compiler/check/names.h"
#include "compiler/check/scope/lookup.h"
#include "compiler/check/scope/scope.h"
#include "compiler/program/text.h"
#include "llvm/ADT/StringExtras.h"
#include "runtime/base/text.h"

namespace cgraph::check {

using namespace program;

namespace {

StaticType FieldType(Scope& scope, const StaticType& base, const syntax::Name& name) {
  if (!base.known()) return StaticType();
  if (base.kind == StaticType::kTuple) {
    for (size_t i = 0; i < base.parts.size(); ++i) {
      if (base.names[i] == name.text) return base.parts[i];
    }
    Diagnostic& diagnostic = scope.Report(Code::kE0313, name.range,
                                          fmt::format("the tuple has no field `{}`", name.text));
    scope.checker.Suggest(diagnostic, name.range, name.text, base.names);
    return StaticType();
  }
  if (base.kind == StaticType::kPlace && base.actor.valid() &&
      FindMethod(scope.program, base.actor, name.text).valid()) {
    scope.Report(Code::kE0305, name.range,
                 fmt::format("`{0}` is a method; a call has parentheses: {0}(...)", name.text));
    return StaticType();
  }
  const auto state = base.kind == StaticType::kPlace && base.actor.valid()
                         ? scope.checker.state_names.find({base.actor, name.text})
                         : scope.checker.state_names.end();
  if (state != scope.checker.state_names.end()) {
    const State& row = scope.program.states[state->second];
    if (scope.names_params && row.is_param) return StaticOf(scope.program, row.type);
    if (scope.names_params) {
      scope
          .Report(Code::kE0903, name.range,
                  fmt::format("`of:` takes params, and `{0}` is a state, which is not trained; "
                              "`param {0}: ...` declares it as a param",
                              name.text))
          .AddNote(row.range, "declared here");
      return StaticType();
    }
    scope
        .Report(Code::kE0313, name.range,
                fmt::format("`{0}` is a state, which only the methods of its actor see; one that "
                            "returns it can be called: `method current() -> TYPE {{ return {0} }}`",
                            name.text))
        .AddNote(row.range, "declared here");
    return StaticType();
  }
  if (scope.names_params && base.kind == StaticType::kPlace && base.actor.valid()) {
    const Actor& actor = scope.program.actors[base.actor];
    std::vector<std::string> params;
    for (StateId id : actor.states) {
      if (scope.program.states[id].is_param) params.push_back(scope.program.states[id].name);
    }
    Diagnostic& unknown =
        scope.Report(Code::kE0903, name.range,
                     fmt::format("actor `{}` has no param `{}`; it has {}", actor.name, name.text,
                                 params.empty() ? "none" : llvm::join(params, ", ")));
    scope.checker.Suggest(unknown, name.range, name.text, params);
    unknown.AddNote(actor.range, "the actor is declared here");
    return StaticType();
  }
  Diagnostic& diagnostic =
      scope.Report(Code::kE0313, name.range,
                   fmt::format("only tuples have fields, and this is {}", scope.Describe(base)));
  scope.checker.Translate(diagnostic, Range(), name.text, NamePosition::kBehindDot);
  return StaticType();
}

StaticType PlacesIndexType(Scope& scope, const StaticType& base,
                           const std::vector<Value>& subscripts, Range range) {
  if (static_cast<int>(subscripts.size()) != base.indices) {
    scope.Report(Code::kE0418, range,
                 fmt::format("{} has {} {}, and {} {} given", scope.Describe(base), base.indices,
                             base.indices == 1 ? "index" : "indices", subscripts.size(),
                             subscripts.size() == 1 ? "is" : "are"));
    return StaticType();
  }
  StaticType place = StaticType::Of(StaticType::kPlace);
  place.actor = base.actor;
  for (const Value& subscript : subscripts) {  // a list for each index that is a range
    if (!subscript.type.known()) return StaticType();
    if (subscript.type.kind == StaticType::kList) place = StaticType::List(std::move(place));
  }
  return place;
}

StaticType TupleIndexType(Scope& scope, const StaticType& base, const Value& subscript) {
  if (!subscript.id.valid()) return base;
  const auto* literal = std::get_if<IntLiteral>(&scope.program.exprs[subscript.id].node);
  if (!literal) return StaticType();
  if (literal->value >= 0 && literal->value < static_cast<int64_t>(base.parts.size())) {
    return base.parts[literal->value];
  }
  scope.Report(
      Code::kE0418, scope.program.exprs[subscript.id].range,
      fmt::format("the tuple has {}; there is no {}", Counted(base.parts.size(), "field"),
                  literal->value));
  return StaticType();
}

// Returns the number where a subscript is written as one below 0.
std::optional<int64_t> NegativeLiteral(const Scope& scope, ExprId id) {
  const auto* unary = id.valid() ? std::get_if<Unary>(&scope.program.exprs[id].node) : nullptr;
  if (!unary || unary->is_not) return std::nullopt;
  const auto* literal = std::get_if<IntLiteral>(&scope.program.exprs[unary->operand].node);
  return literal && literal->value > 0 ? std::optional(-literal->value) : std::nullopt;
}

// Returns what is written for row `index`, which is below 0, as counted from the end: "3", "n - 1".
// Empty where the extent of dimension 0 is not known by a number or a name, or has no such row.
std::string FromTheEnd(const Scope& scope, const StaticType& tensor, int64_t index) {
  if (!tensor.declared.type.valid()) return "";
  const auto* type = std::get_if<TensorType>(&scope.program.types[tensor.declared.type].node);
  if (!type || type->dims.empty()) return "";
  for (const Dim& dim : type->dims) {
    if (dim.kind != Dim::kExpr && dim.kind != Dim::kVariable) return "";
  }
  const Dim& dim = type->dims[0];
  const auto* extent = dim.kind == Dim::kExpr
                           ? std::get_if<IntLiteral>(&scope.program.exprs[dim.expr].node)
                           : nullptr;
  if (!extent) return fmt::format("{} - {}", scope.checker.sources.Text(dim.range), -index);
  return -index <= extent->value ? std::to_string(extent->value + index) : "";
}

// `x[-1]`: says what is written for the last row, where its number is known here. Elsewhere
// elaboration says so, and the rank of the result must not be blamed before.
StaticType NegativeIndexType(Scope& scope, const StaticType& base, const Value& subscript,
                             int64_t index, Range range) {
  const std::string mend = FromTheEnd(scope, base, index);
  if (mend.empty()) return StaticType();
  const auto& [type, signature, locals] = base.declared;
  scope
      .Report(Code::kE0511, range,
              fmt::format("[{}] is outside dimension 0 of {}; indices do not count from the end: "
                          "write [{}]",
                          index, TextPrinter(scope.program, signature, locals).Meaning(type), mend))
      .AddFix(scope.program.exprs[subscript.id].range, mend);
  return StaticType();
}

StaticType IndexType(Scope& scope, const Value& base, const std::vector<Value>& subscripts,
                     Range range) {
  const StaticType& type = base.type;
  for (const Value& subscript : subscripts) {
    StaticType::Kind kind = subscript.type.kind;
    bool late = kind == StaticType::kTensor;
    bool fits = !subscript.type.known() || kind == StaticType::kInt || kind == StaticType::kList ||
                (late && (type.kind == StaticType::kTensor || !type.known()));
    if (fits) continue;
    const Range at = scope.program.exprs[subscript.id].range;
    std::string mend;
    if (kind == StaticType::kPlace) {
      mend = fmt::format(": a loop over an array of places gives the places, so write {}.f(...)",
                         scope.checker.sources.Text(at));
    }
    if (kind == StaticType::kStr && type.kind == StaticType::kTuple) {
      mend = "; a field of a tuple is written with a dot, t.name, and items(t) gives the names";
    }
    scope.Report(Code::kE0418, at,
                 fmt::format("a subscript is a compile-time int or a range a..b; this is {}{}",
                             scope.Describe(subscript.type), mend));
    return StaticType();
  }
  if (type.kind == StaticType::kPlaces) return PlacesIndexType(scope, type, subscripts, range);
  if (!type.known()) return StaticType();
  bool indexable = type.kind == StaticType::kTensor || type.kind == StaticType::kList ||
                   type.kind == StaticType::kTuple;
  if (!indexable || (type.kind == StaticType::kTensor && type.rank == 0)) {
    scope.Report(
        Code::kE0418, range,
        fmt::format("only lists, tuples, arrays of places and tensors with dimensions have "
                    "subscripts; this is {}",
                    scope.Describe(type)));
    return StaticType();
  }
  if (subscripts.size() != 1) {
    const bool parts = type.kind == StaticType::kTensor &&
                       std::any_of(subscripts.begin(), subscripts.end(), [](const Value& each) {
                         return each.type.kind == StaticType::kList;
                       });
    scope.Report(Code::kE0418, range,
                 fmt::format("{} takes one subscript at a time: x[i][j]{}", scope.Describe(type),
                             parts ? "; slice(x, dim: 1, from: a, length: n) cuts another "
                                     "dimension than the first"
                                   : ""));
    return StaticType();
  }
  const StaticType& subscript = subscripts[0].type;
  if (type.kind == StaticType::kTuple) return TupleIndexType(scope, type, subscripts[0]);
  if (subscript.kind == StaticType::kList) return type;  // a range
  if (subscript.kind != StaticType::kInt) return StaticType();
  if (type.kind == StaticType::kList) return type.parts[0];
  if (const std::optional<int64_t> index = NegativeLiteral(scope, subscripts[0].id)) {
    return NegativeIndexType(scope, type, subscripts[0], *index, range);
  }
  return StaticType::Tensor(type.dtype, type.rank < 0 ? -1 : type.rank - 1);
}

}  // namespace

Value Visit(Scope& scope, const syntax::FieldExpr& node, Range range) {
  if (const std::string* qualifier = QualifierOf(scope, node.base)) {
    Found found =
        FindQualified(scope.checker, scope.module, *qualifier, node.name.text, node.name.range);
    if (found.symbol) return ResolveSymbol(scope, *found.symbol, node.name.text, range);
    if (found.reported || scope.checker.names_missing) return scope.Poison(range);
    Diagnostic& diagnostic =
        scope.Report(Code::kE0301, node.name.range,
                     fmt::format("{} declares no `{}`", ShownModule(scope.module, *qualifier),
                                 node.name.text));
    if (!scope.checker.Translate(diagnostic, node.name.range, node.name.text)) {
      scope.checker.Suggest(diagnostic, node.name.range, node.name.text,
                            QualifiedNames(scope.module, *qualifier));
    }
    return scope.Poison(range);
  }
  if (IsSelf(scope, node.base)) return RefuseSelf(scope, node.name, range);
  if (const syntax::Expr* qualifier = UnknownQualifier(scope, node.base)) {
    return ReportUnknownPath(scope, *qualifier, node.name, range);
  }
  Value base = ResolveValue(scope, node.base);
  StaticType type = FieldType(scope, base.type, node.name);
  return scope.Make(Field{base.id, node.name.text, node.name.range}, range, std::move(type));
}

Value Visit(Scope& scope, const syntax::IndexExpr& node, Range range) {
  if (auto device = ResolveDevice(scope, node, range)) return *device;
  Value base = ResolveValue(scope, node.base);
  Index resolved;
  resolved.base = base.id;
  std::vector<Value> subscripts;
  for (syntax::ExprId id : node.subscripts) {
    // `:` is everything, like a range.
    subscripts.push_back(id.valid()
                             ? ResolveValue(scope, id)
                             : Value{ExprId(), StaticType::List(StaticType::Of(StaticType::kInt))});
    resolved.subscripts.push_back(subscripts.back().id);
  }
  StaticType type = IndexType(scope, base, subscripts, range);
  return scope.Make(std::move(resolved), range, std::move(type));
}

}  // namespace cgraph::check
