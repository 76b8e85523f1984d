#include "compiler/check/expressions/resolve.h"

#include <map>

#include <fmt/format.h>

#include "compiler/check/expressions/resolve.h"
#include "compiler/check/expressions/visit.h"
#include "compiler/check/scope/scope.h"

namespace cgraph::check {

using namespace program;

StaticType ElementOf(Scope& scope, const Value& list) {
  const StaticType& type = list.type;
  switch (type.kind) {
    case StaticType::kUnknown: return StaticType();
    case StaticType::kList: return type.parts[0];
    case StaticType::kTuple: {
      StaticType element = type.parts.empty() ? StaticType() : type.parts[0];
      for (const StaticType& part : type.parts) element = Join(element, part);
      return element;
    }
    case StaticType::kPlaces:
      if (type.indices == 1) {
        StaticType place = StaticType::Of(StaticType::kPlace);
        place.actor = type.actor;
        return place;
      }
      scope.Report(
          Code::kE0416, scope.program.exprs[list.id].range,
          fmt::format("an array of places with {} indices is no list; go over each index and "
                      "name one place by all of them",
                      type.indices));
      return StaticType();
    default: break;
  }
  const char* mend = type.kind == StaticType::kInt      ? "; a range is written 0..n"
                     : type.kind == StaticType::kTensor ? "; `for i in 0..n` and x[i] take its rows"
                                                    : "";
  scope.Report(
      Code::kE0416, scope.program.exprs[list.id].range,
      fmt::format("`for` goes over a list, a tuple, a range or an array of places; this is {}{}",
                  scope.Describe(type), mend));
  return StaticType();
}

const char* MendOfPattern(const StaticType& list) {
  return list.kind == StaticType::kTuple
             ? "; items(t) gives each field of a tuple t with its name: for (name, x) in items(t)"
             : "";
}

Value Visit(Scope& scope, const syntax::TupleExpr& node, Range range) {
  Tuple resolved;
  std::vector<StaticType> parts;
  std::vector<std::string> names;
  std::map<std::string, Range> first;
  for (const syntax::Argument& field : node.fields) {
    Value value = ResolveValue(scope, field.value);
    std::string name = field.label ? field.label->text : "";
    Range field_range = field.label ? field.label->range : scope.Written(field.value).range;
    if (field.label) {
      auto [known, added] = first.emplace(name, field_range);
      if (!added) {
        scope.Report(Code::kE0302, field_range, fmt::format("field `{}` is given twice", name))
            .AddNote(known->second, "the first one is here");
      }
    }
    resolved.fields.push_back({name, value.id, field_range});
    parts.push_back(std::move(value.type));
    names.push_back(std::move(name));
  }
  return scope.Make(std::move(resolved), range,
                    StaticType::Tuple(std::move(parts), std::move(names)));
}

Value Visit(Scope& scope, const syntax::ListExpr& node, Range range) {
  List resolved;
  StaticType element;
  for (size_t i = 0; i < node.items.size(); ++i) {
    Value value = ResolveValue(scope, node.items[i]);
    resolved.items.push_back(value.id);
    element = i == 0 ? value.type : Join(element, value.type);
  }
  return scope.Make(std::move(resolved), range, StaticType::List(std::move(element)));
}

Value Visit(Scope& scope, const syntax::Comprehension& node, Range range) {
  Comprehension resolved;
  resolved.makes_tuple = node.makes_tuple;
  std::vector<StaticType> lists;
  scope.names.OpenBlock();
  for (const syntax::Comprehension::Clause& clause : node.clauses) {
    Comprehension::Clause row;
    Value list = ResolveValue(scope, clause.list);
    row.list = list.id;
    row.tuple_pattern = clause.tuple_pattern;
    row.pattern = DeclarePattern(scope, clause.pattern, clause.tuple_pattern,
                                 scope.Written(clause.list).range, ElementOf(scope, list),
                                 LocalKind::kFixed, MendOfPattern(list.type));
    lists.push_back(list.type);
    if (clause.condition.valid()) row.condition = ResolveCondition(scope, clause.condition).id;
    resolved.clauses.push_back(std::move(row));
  }
  Value element = ResolveValue(scope, node.element);
  resolved.element = element.id;
  scope.names.CloseBlock();
  StaticType type = StaticType::List(element.type);
  if (node.makes_tuple) {
    const bool maps = lists.size() == 1 && lists[0].kind == StaticType::kTuple &&
                      !node.clauses[0].condition.valid();
    type = maps ? StaticType::Tuple(std::vector(lists[0].parts.size(), element.type),
                                    std::move(lists[0].names))
                : StaticType();
  }
  return scope.Make(std::move(resolved), range, std::move(type));
}

}  // namespace cgraph::check
