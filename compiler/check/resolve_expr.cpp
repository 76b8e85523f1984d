// Expressions other than names, operators and calls; and what a place for a value may ask of one.
#include <fmt/format.h>

#include "compiler/check/resolver.h"

namespace cgraph::check {

using namespace program;

Value Resolver::Make(decltype(Expr::node) node, Range range, Static type) {
  return {program_.exprs.Add({std::move(node), range}), std::move(type)};
}

Value Resolver::Poison(Range range) { return Make(NoneLiteral(), range, Static()); }

Value Resolver::Resolve(syntax::ExprId id) {
  const syntax::Expr& expr = Written(id);
  return std::visit([&](const auto& node) { return Visit(node, expr.range); }, expr.node);
}

Value Resolver::ResolveValue(syntax::ExprId id) {
  Value value = Resolve(id);
  if (value.type.kind == Static::kNothing) {
    Report(Code::kE0427, Written(id).range, "this call has no result, so it is no value");
    value.type = Static();
  } else if (value.type.kind == Static::kDims) {
    Report(Code::kE0427, Written(id).range,
           "a run of dimensions is no value; size(s) is the number of its elements, rank(s) that "
           "of its dimensions");
    value.type = Static();
  }
  return value;
}

Value Resolver::ResolveCompileTime(syntax::ExprId id, const char* what) {
  Value value = ResolveValue(id);
  if (value.type.kind != Static::kTensor) return value;
  Report(Code::kE0420, Written(id).range,
         fmt::format("{} must be known at compile time; this is {}", what, Describe(value.type)));
  value.type = Static();
  return value;
}

Value Resolver::ResolveInt(syntax::ExprId id, const char* what) {
  Value value = ResolveCompileTime(id, what);
  if (value.type.known() && value.type.kind != Static::kInt) {
    Report(Code::kE0420, Written(id).range,
           fmt::format("{} is a compile-time int; this is {}", what, Describe(value.type)));
  }
  return value;
}

Value Resolver::ResolveCondition(syntax::ExprId id) {
  Value value = ResolveValue(id);
  if (!value.type.known() || value.type.kind == Static::kBool) return value;
  bool late = value.type.kind == Static::kTensor;
  Report(Code::kE0415, Written(id).range,
         fmt::format("a condition is a compile-time bool; this is {}{}", Describe(value.type),
                     late ? ", whose value is known only while running" : ""));
  return value;
}

ExprId Resolver::ResolveIndexRange(syntax::ExprId id) {
  Value value = ResolveCompileTime(id, "the index of an array of places");
  if (value.type.known() && value.type.kind != Static::kList) {
    Report(Code::kE0416, Written(id).range,
           fmt::format("the index of an array of places goes over a range, 0..n; this is {}",
                       Describe(value.type)));
  }
  return value.id;
}

// ---- literals -----------------------------------------------------------------------------------

Value Resolver::Visit(const syntax::IntLiteral& node, Range range) {
  return Make(IntLiteral{node.value}, range, Static::Of(Static::kInt));
}
Value Resolver::Visit(const syntax::FloatLiteral& node, Range range) {
  return Make(FloatLiteral{node.value}, range, Static::Of(Static::kFloat));
}
Value Resolver::Visit(const syntax::BoolLiteral& node, Range range) {
  return Make(BoolLiteral{node.value}, range, Static::Of(Static::kBool));
}
Value Resolver::Visit(const syntax::NameExpr& node, Range range) {
  return ResolveName(node.name, range);
}

Value Resolver::Visit(const syntax::QuantityLiteral&, Range range) {
  Report(Code::kE0425, range, "a number with a unit can stand in a graph's `timeout` only");
  return Poison(range);
}

Value Resolver::Visit(const syntax::StringLiteral& node, Range range) {
  StringLiteral resolved;
  resolved.texts = node.texts;
  for (syntax::ExprId id : node.exprs) {
    resolved.exprs.push_back(ResolveCompileTime(id, "what a string takes in").id);
  }
  return Make(std::move(resolved), range, Static::Of(Static::kStr));
}

// ---- tuples, lists, conditions ------------------------------------------------------------------

Value Resolver::Visit(const syntax::TupleExpr& node, Range range) {
  Tuple resolved;
  std::vector<Static> parts;
  std::vector<std::string> names;
  std::map<std::string, Range> first;
  for (const syntax::Argument& field : node.fields) {
    Value value = ResolveValue(field.value);
    std::string name = field.label ? field.label->text : "";
    Range field_range = field.label ? field.label->range : Written(field.value).range;
    if (field.label) {
      auto [known, added] = first.emplace(name, field_range);
      if (!added) {
        Report(Code::kE0302, field_range, fmt::format("field `{}` is given twice", name))
            .AddNote(known->second, "the first one is here");
      }
    }
    resolved.fields.push_back({name, value.id, field_range});
    parts.push_back(std::move(value.type));
    names.push_back(std::move(name));
  }
  return Make(std::move(resolved), range, Static::Tuple(std::move(parts), std::move(names)));
}

Value Resolver::Visit(const syntax::ListExpr& node, Range range) {
  List resolved;
  Static element;
  for (size_t i = 0; i < node.items.size(); ++i) {
    Value value = ResolveValue(node.items[i]);
    resolved.items.push_back(value.id);
    element = i == 0 ? value.type : Join(element, value.type);
  }
  return Make(std::move(resolved), range, Static::List(std::move(element)));
}

Value Resolver::Visit(const syntax::Comprehension& node, Range range) {
  Comprehension resolved;
  PushScope();
  for (const syntax::Comprehension::Clause& clause : node.clauses) {
    Comprehension::Clause row;
    Value list = ResolveValue(clause.list);
    row.list = list.id;
    row.tuple_pattern = clause.tuple_pattern;
    row.pattern = DeclarePattern(clause.pattern, clause.tuple_pattern, Written(clause.list).range,
                                 ElementOf(list), false);
    if (clause.condition.valid()) row.condition = ResolveCondition(clause.condition).id;
    resolved.clauses.push_back(std::move(row));
  }
  Value element = ResolveValue(node.element);
  resolved.element = element.id;
  PopScope();
  return Make(std::move(resolved), range, Static::List(std::move(element.type)));
}

Value Resolver::Visit(const syntax::IfExpr& node, Range range) {
  If resolved;
  resolved.condition = ResolveCondition(node.condition).id;
  Value then_value = ResolveValue(node.then_value);
  Value else_value = ResolveValue(node.else_value);
  resolved.then_value = then_value.id;
  resolved.else_value = else_value.id;
  return Make(resolved, range, Join(then_value.type, else_value.type));
}

Static Resolver::ElementOf(const Value& list) {
  const Static& type = list.type;
  switch (type.kind) {
    case Static::kUnknown: return Static();
    case Static::kList: return type.parts[0];
    case Static::kPlaces:
      if (type.indices == 1) {
        Static place = Static::Of(Static::kPlace);
        place.actor = type.actor;
        return place;
      }
      Report(Code::kE0416, program_.exprs[list.id].range,
             fmt::format("an array of places with {} indices is no list; go over each index and "
                         "name one place by all of them",
                         type.indices));
      return Static();
    default: break;
  }
  const char* mend = type.kind == Static::kInt      ? "; a range is written 0..n"
                     : type.kind == Static::kTensor ? "; `for i in 0..n` and x[i] take its rows"
                                                    : "";
  Report(Code::kE0416, program_.exprs[list.id].range,
         fmt::format("`for` goes over a list, a range or an array of places; this is {}{}",
                     Describe(type), mend));
  return Static();
}

std::vector<LocalId> Resolver::DeclarePattern(const std::vector<syntax::Name>& names, bool tuple,
                                              Range range, const Static& type, bool is_var) {
  std::vector<Static> parts(names.size());
  if (!tuple) {
    parts[0] = type;
  } else if (type.kind == Static::kTuple) {
    if (type.parts.size() == names.size()) {
      parts = type.parts;
    } else {
      Report(Code::kE0417, range,
             fmt::format("the pattern has {} names and the tuple {} fields", names.size(),
                         type.parts.size()));
    }
  } else if (type.kind == Static::kList) {
    parts.assign(names.size(), type.parts[0]);
  } else if (type.known()) {
    Report(Code::kE0417, range,
           fmt::format("a pattern of several names takes a tuple or a list; this is {}",
                       Describe(type)));
  }
  std::vector<LocalId> locals;
  for (size_t i = 0; i < names.size(); ++i) {
    locals.push_back(DeclareLocal(names[i], is_var ? Static() : parts[i], is_var));
  }
  return locals;
}

// ---- cast, via, on ------------------------------------------------------------------------------

Value Resolver::Visit(const syntax::CastExpr& node, Range range) {
  Cast resolved;
  resolved.type = ResolveType(node.type, TypeRole::kArgument);
  const Type& type = program_.types[resolved.type];
  const auto* tensor = std::get_if<TensorType>(&type.node);
  bool dtype_only = tensor && tensor->dims.empty();
  if (!dtype_only) {
    Report(Code::kE0410, type.range,
           "`cast` takes a dtype without dimensions, such as cast<f16>(x): the shape stays");
  }
  Arguments given = ResolveArguments(node.arguments);
  if (given.arguments.size() != 1 || !given.arguments[0].label.empty()) {
    Report(given.arguments.empty() ? Code::kE0401 : Code::kE0402, range,
           "`cast` takes one tensor: cast<f16>(x)");
    return Poison(range);
  }
  resolved.operand = given.arguments[0].value;
  const Static& operand = given.types[0];
  bool castable = !operand.known() || operand.kind == Static::kTensor || operand.is_number() ||
                  operand.kind == Static::kBool;
  if (!castable) {
    Report(Code::kE0406, range,
           fmt::format("`cast` converts tensors and numbers; this is {}", Describe(operand)));
  }
  int rank = operand.kind == Static::kTensor ? operand.rank : operand.known() ? 0 : -1;
  Static result = Static::Tensor(dtype_only ? tensor->dtype : std::nullopt, rank);
  return Make(resolved, range, result);
}

Value Resolver::Visit(const syntax::Modified& node, Range range) {
  switch (node.kind) {
    case syntax::Modified::kVia: return ResolveVia(node, range);
    case syntax::Modified::kOn: return ResolveOn(node, range);
    case syntax::Modified::kAfter: break;
  }
  return ResolveAfter(node, range);
}

Value Resolver::ResolveVia(const syntax::Modified& node, Range range) {
  Value base = Resolve(node.base);
  std::optional<Route> route = ResolveRoute(node.argument);
  if (!OpensScope()) {
    Report(Code::kE0422, range,
           "values travel between places, in graphs; a `via` inside an actor or a const means "
           "nothing");
    return base;
  }
  if (!route) return base;
  return Make(Via{base.id, *route}, range, base.type);
}

Value Resolver::ResolveAfter(const syntax::Modified& node, Range range) {
  Value done = Resolve(node.argument);  // also a call without a result
  Value base = Resolve(node.base);
  if (!OpensScope()) {
    Report(Code::kE0422, range,
           "`after` orders calls of a graph; everything inside an actor runs in program order");
    return base;
  }
  Static::Kind kind = done.type.kind;
  bool comes_from_calls = !done.type.known() || kind == Static::kTensor || kind == Static::kList ||
                          kind == Static::kTuple || kind == Static::kNothing;
  if (!comes_from_calls) {
    Report(Code::kE0406, Written(node.argument).range,
           fmt::format("`after` takes a call, what calls have made, or a list of these; this is {}",
                       Describe(done.type)));
  }
  return Make(After{base.id, done.id}, range, base.type);
}

Value Resolver::ResolveOn(const syntax::Modified& node, Range range) {
  Value base = Resolve(node.base);
  if (!OpensScope()) {
    Report(Code::kE0422, range,
           "`on` places ops of a graph; everything inside an actor runs where the actor is");
    return base;
  }
  Value where = ResolveValue(node.argument);
  Static::Kind kind = where.type.kind;
  if (kind != Static::kPlace && kind != Static::kDevice && where.type.known()) {
    Report(Code::kE0421, Written(node.argument).range,
           fmt::format("`on` takes a place or a device such as gpu[0]; this is {}",
                       Describe(where.type)));
  }
  return Make(On{base.id, where.id}, range, base.type);
}

}  // namespace cgraph::check
