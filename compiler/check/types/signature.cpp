#include "compiler/check/types/types.h"

#include <map>

#include <fmt/format.h>

#include "compiler/check/expressions/resolve.h"
#include "compiler/check/scope/scope.h"

namespace cgraph::check {

using namespace program;

namespace {

// Returns whether the type is `int`, `float` or `str`: its value may be a dimension of another
// parameter.
bool IsCompileTimeName(const syntax::Type& type) {
  const auto* named = std::get_if<syntax::NamedType>(&type.node);
  return named && !named->has_dims &&
         (named->name.text == "int" || named->name.text == "float" || named->name.text == "str");
}

}  // namespace

bool HoldsTensor(const Program& program, TypeId id) {
  const auto& node = program.types[id].node;
  if (const auto* list = std::get_if<ListType>(&node)) return HoldsTensor(program, list->element);
  if (const auto* tuple = std::get_if<TupleType>(&node)) {
    for (const TupleType::Field& field : tuple->fields) {
      if (HoldsTensor(program, field.type)) return true;
    }
  }
  return std::holds_alternative<TensorType>(node) && !IsPoison(program.types[id]);
}

void ResolveGenerics(Scope& scope, const std::vector<syntax::Generic>& generics) {
  static const std::map<std::string, DTypeBound> kBounds = {{"any", DTypeBound::kAny},
                                                            {"number", DTypeBound::kNumber},
                                                            {"float", DTypeBound::kFloat},
                                                            {"int", DTypeBound::kInt}};
  std::map<std::string, Range> names;
  for (const syntax::Generic& generic : generics) {
    Generic resolved{generic.name.text, DTypeBound::kAny};
    if (generic.bound) {
      auto bound = kBounds.find(generic.bound->text);
      const std::optional<GenericId> earlier = scope.FindGeneric(generic.bound->text);
      if (bound != kBounds.end()) {
        resolved.bound = bound->second;
      } else if (earlier) {
        resolved.bound = scope.signature->generics[*earlier].bound;
        resolved.of = *earlier;
      } else {
        scope.Report(Code::kE0423, generic.bound->range,
                     fmt::format("`{}` is no class of dtypes; there are any, number, float and "
                                 "int, and the dtype variables before it",
                                 generic.bound->text));
      }
    }
    auto [first, added] = names.emplace(generic.name.text, generic.name.range);
    if (!added) {
      scope
          .Report(Code::kE0302, generic.name.range,
                  fmt::format("`{}` is declared twice", generic.name.text))
          .AddNote(first->second, "the first declaration is here");
    }
    scope.signature->generics.Add(std::move(resolved));
  }
}

std::vector<Parameter> ResolveParameters(Scope& scope,
                                         const std::vector<syntax::Parameter>& parameters) {
  std::vector<Parameter> resolved;
  for (const syntax::Parameter& parameter : parameters) {
    Parameter row;
    row.name = parameter.name.text;
    row.range = parameter.name.range;
    row.local = DeclareLocal(scope, parameter.name, StaticType(), LocalKind::kFixed);
    resolved.push_back(std::move(row));
  }
  // Integers come first: they may be dimensions of any other parameter, also of an earlier one.
  for (bool compile_time : {true, false}) {
    for (size_t i = 0; i < parameters.size(); ++i) {
      const syntax::TypeId written = parameters[i].type;
      if (IsCompileTimeName(scope.module.file.types[written]) != compile_time) continue;
      resolved[i].type = ResolveType(scope, written, TypeRole::kParameter);
      scope.names.set_type(resolved[i].local, scope.Declared(resolved[i].type));
      const bool of_actor = scope.site == Site::kActor;
      const bool of_optimizer = scope.site == Site::kOptimizer;
      const bool of_topology = scope.site == Site::kTopology;
      const bool is_fixed =
          of_actor || of_optimizer || of_topology || scope.site == Site::kSchedule;
      if (is_fixed && HoldsTensor(scope.program, resolved[i].type)) {
        scope.Report(
            Code::kE0424, scope.program.types[resolved[i].type].range,
            fmt::format("the parameters of {} are known at compile time: int, float, bool, str, "
                        "and lists or tuples of them{}",
                        of_actor       ? "an actor"
                        : of_optimizer ? "an optimizer"
                        : of_topology  ? "a topology"
                                       : "a schedule",
                        of_actor ? "; a tensor is a state" : ""));
      }
    }
  }
  ReportUnboundUses(scope, "give it a parameter, or write it as an integer");
  return resolved;
}

void ResolveResult(Scope& scope, const syntax::Result& result) {
  if (result.type.valid()) {
    scope.signature->result = ResolveType(scope, result.type, TypeRole::kResult);
    ReportUnboundUses(scope, scope.site == Site::kOp
                                 ? "an op's result takes an extent from an i64 parameter"
                                 : "write its bound: k <= 64");
  }
  if (!result.via.valid()) return;
  if (scope.site == Site::kMethod && result.type.valid()) {
    scope.signature->via = ResolveRoute(scope, result.via);
    return;
  }
  scope.Report(Code::kE0422, scope.Written(result.via).range,
               "a `via` stands at a use, at a `let`, or at the result of a method");
}

void ResolveDefaults(Scope& scope, const std::vector<syntax::Parameter>& written,
                     std::vector<Parameter>& parameters) {
  scope.names.Hide(true);
  for (size_t i = 0; i < written.size(); ++i) {
    if (!written[i].default_value.valid()) continue;
    Range range = scope.Written(written[i].default_value).range;
    Value value = ResolveCompileTime(scope, written[i].default_value, "a default value");
    parameters[i].default_value = value.id;
    ExpectType(scope, parameters[i].type, value.type, range,
               fmt::format("the default of `{}`", parameters[i].name), parameters[i].range);
  }
  scope.names.Hide(false);
}

}  // namespace cgraph::check
