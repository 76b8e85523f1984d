// Fields `t.scores` and subscripts `xs[i]`.
#include <fmt/format.h>

#include "compiler/check/names.h"
#include "compiler/check/resolver.h"

namespace cgraph::check {

using namespace program;

Value Resolver::Visit(const syntax::FieldExpr& node, Range range) {
  if (const std::string* qualifier = QualifierOf(node.base)) {
    Found found = FindQualified(checker_, module_, *qualifier, node.name.text, node.name.range);
    if (found.symbol) return ResolveSymbol(*found.symbol, node.name.text, range);
    if (found.reported || checker_.syntax_errors) return Poison(range);
    Diagnostic& diagnostic =
        Report(Code::kE0301, node.name.range,
               fmt::format("`{}` declares no `{}`", *qualifier, node.name.text));
    checker_.Suggest(diagnostic, node.name.range, node.name.text,
                     QualifiedNames(module_, *qualifier));
    return Poison(range);
  }
  Value base = ResolveValue(node.base);
  Static type = FieldType(base.type, node.name);
  return Make(Field{base.id, node.name.text, node.name.range}, range, std::move(type));
}

Static Resolver::FieldType(const Static& base, const syntax::Name& name) {
  if (!base.known()) return Static();
  if (base.kind == Static::kTuple) {
    for (size_t i = 0; i < base.parts.size(); ++i) {
      if (base.names[i] == name.text) return base.parts[i];
    }
    Diagnostic& diagnostic = Report(Code::kE0313, name.range,
                                    fmt::format("the tuple has no field `{}`", name.text));
    checker_.Suggest(diagnostic, name.range, name.text, base.names);
    return Static();
  }
  if (base.kind == Static::kPlace && base.actor.valid() &&
      FindMethod(program_, base.actor, name.text).valid()) {
    Report(Code::kE0305, name.range,
           fmt::format("`{0}` is a method; a call has parentheses: {0}(...)", name.text));
    return Static();
  }
  const bool is_shape = base.kind == Static::kTensor && name.text == "shape";
  Report(Code::kE0313, name.range,
         fmt::format("only tuples have fields, and this is {}{}", Describe(base),
                     is_shape ? "; a dimension is named in the type, x: f32[n, m]" : ""));
  return Static();
}

Value Resolver::Visit(const syntax::IndexExpr& node, Range range) {
  if (auto device = ResolveDevice(node, range)) return *device;
  Value base = ResolveValue(node.base);
  Index resolved;
  resolved.base = base.id;
  std::vector<Value> subscripts;
  for (syntax::ExprId id : node.subscripts) {
    // `:` is everything, like a range.
    subscripts.push_back(id.valid() ? ResolveValue(id)
                                    : Value{ExprId(), Static::List(Static::Of(Static::kInt))});
    resolved.subscripts.push_back(subscripts.back().id);
  }
  Static type = IndexType(base, subscripts, range);
  return Make(std::move(resolved), range, std::move(type));
}

Static Resolver::IndexType(const Value& base, const std::vector<Value>& subscripts, Range range) {
  const Static& type = base.type;
  for (const Value& subscript : subscripts) {
    Static::Kind kind = subscript.type.kind;
    bool late = kind == Static::kTensor;
    bool fits = !subscript.type.known() || kind == Static::kInt || kind == Static::kList ||
                (late && (type.kind == Static::kTensor || !type.known()));
    if (fits) continue;
    Report(Code::kE0418, program_.exprs[subscript.id].range,
           fmt::format("a subscript is a compile-time int or a range a..b; this is {}",
                       Describe(subscript.type)));
    return Static();
  }
  if (type.kind == Static::kPlaces) return PlacesIndexType(type, subscripts, range);
  if (!type.known()) return Static();
  bool indexable = type.kind == Static::kTensor || type.kind == Static::kList ||
                   type.kind == Static::kTuple;
  if (!indexable || (type.kind == Static::kTensor && type.rank == 0)) {
    Report(Code::kE0418, range,
           fmt::format("only lists, tuples, arrays of places and tensors with dimensions have "
                       "subscripts; this is {}",
                       Describe(type)));
    return Static();
  }
  if (subscripts.size() != 1) {
    Report(Code::kE0418, range,
           fmt::format("{} takes one subscript at a time: x[i][j]", Describe(type)));
    return Static();
  }
  const Static& subscript = subscripts[0].type;
  if (type.kind == Static::kTuple) return TupleIndexType(type, subscripts[0]);
  if (subscript.kind == Static::kList) return type;  // a range
  if (subscript.kind != Static::kInt) return Static();
  if (type.kind == Static::kList) return type.parts[0];
  return Static::Tensor(type.dtype, type.rank < 0 ? -1 : type.rank - 1);
}

Static Resolver::PlacesIndexType(const Static& base, const std::vector<Value>& subscripts,
                                 Range range) {
  if (static_cast<int>(subscripts.size()) != base.indices) {
    Report(Code::kE0418, range,
           fmt::format("{} has {} {}, and {} {} given", Describe(base), base.indices,
                       base.indices == 1 ? "index" : "indices", subscripts.size(),
                       subscripts.size() == 1 ? "is" : "are"));
    return Static();
  }
  Static place = Static::Of(Static::kPlace);
  place.actor = base.actor;
  for (const Value& subscript : subscripts) {  // a list for each index that is a range
    if (!subscript.type.known()) return Static();
    if (subscript.type.kind == Static::kList) place = Static::List(std::move(place));
  }
  return place;
}

Static Resolver::TupleIndexType(const Static& base, const Value& subscript) {
  if (!subscript.id.valid()) return base;
  const auto* literal = std::get_if<IntLiteral>(&program_.exprs[subscript.id].node);
  if (!literal) return Static();
  if (literal->value >= 0 && literal->value < static_cast<int64_t>(base.parts.size())) {
    return base.parts[literal->value];
  }
  Report(Code::kE0418, program_.exprs[subscript.id].range,
         fmt::format("the tuple has {} fields; there is no {}", base.parts.size(),
                     literal->value));
  return Static();
}

}  // namespace cgraph::check
