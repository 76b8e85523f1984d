#include "compiler/check/types/types.h"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "compiler/check/expressions/resolve.h"
#include "compiler/check/names.h"
#include "compiler/check/scope/scope.h"

namespace cgraph::check {

using namespace program;

namespace {

TypeId AddType(Scope& scope, decltype(Type::node) node, Range range) {
  return scope.program.types.Add({std::move(node), range});
}

// Resolves `bytes[<= N]`: a u8 tensor with one dimension of its own, which no other type mentions.
TensorType ResolveBytes(Scope& scope, const syntax::BytesType& type, Range range, TypeRole role) {
  auto outer = std::exchange(scope.in_type, role);
  const ExprId limit = ResolveInt(scope, type.bound, "a bound").id;
  scope.in_type = outer;
  const bool opens =
      scope.signature && scope.site != Site::kOp &&
      (role == TypeRole::kParameter || role == TypeRole::kResult || role == TypeRole::kHint);
  if (!opens) {
    scope.Report(
        Code::kE0324, range,
        "`bytes` is of a length that is known only while running: it can be a parameter, a "
        "result or a hint in a graph, method or fn; elsewhere write u8[N]");
    return PoisonType();
  }
  const DimVariableId length = scope.signature->dim_variables.Add({"length", false, range});
  scope.dims.Bind(length);
  Dim dim{.kind = Dim::kBounded, .variable = length, .expr = limit, .range = range};
  return {.dtype = DType::kU8, .dims = {dim}};
}

TypeId ResolveNamedType(Scope& scope, const syntax::NamedType& type, Range range, TypeRole role) {
  const std::string& name = type.name.text;
  if (auto generic = scope.FindGeneric(name)) {
    TensorType resolved;
    resolved.generic = *generic;
    resolved.dims = ResolveDims(scope, type.dims, role);
    return AddType(scope, std::move(resolved), range);
  }
  static const std::map<std::string, CompileTimeKind> kKinds = {{"int", CompileTimeKind::kInt},
                                                                {"float", CompileTimeKind::kFloat},
                                                                {"str", CompileTimeKind::kStr}};
  auto kind = kKinds.find(name);
  if (kind != kKinds.end()) {
    if (type.has_dims) {
      scope.Report(
          Code::kE0304, range,
          fmt::format("`{}` is known at compile time and has no dimensions; a list of them is "
                      "written [{}; 4], a tensor has a dtype such as i64 or f32",
                      name, name));
    }
    return AddType(scope, CompileTimeType{kind->second}, range);
  }
  TypeId poison = AddType(scope, PoisonType(), range);
  if (name == "opaque") {
    scope.Report(Code::kE0715, range, "`opaque` is not in the language yet; values are tensors");
    return poison;
  }
  Found found = FindName(scope.checker, scope.module, name, type.name.range);
  if (found.reported || (!found.symbol && scope.checker.names_missing)) return poison;
  if (found.symbol) {
    scope
        .Report(
            Code::kE0304, type.name.range,
            fmt::format("`{}` is not a type; values are tensors such as f32[4], lists, tuples, and "
                        "int, float, bool, str",
                        name))
        .AddNote(found.symbol->range, "declared here");
    return poison;
  }
  std::vector<std::string> candidates = {"int", "float", "str"};
#define DTYPE(id, wire, name, bytes, class) candidates.push_back(name);
#include "runtime/base/kinds/dtypes.def"
  if (scope.signature) {
    for (const Generic& generic : scope.signature->generics) candidates.push_back(generic.name);
  }
  Diagnostic& diagnostic =
      scope.Report(Code::kE0304, type.name.range, fmt::format("`{}` is not a type", name));
  if (!scope.checker.Translate(diagnostic, type.name.range, name)) {
    scope.checker.Suggest(diagnostic, type.name.range, name, candidates);
  }
  return poison;
}

}  // namespace

TypeId ResolveType(Scope& scope, syntax::TypeId id, TypeRole role) {
  const syntax::Type& type = scope.module.file.types[id];
  if (const auto* tensor = std::get_if<syntax::TensorType>(&type.node)) {
    bool by_compiler =
        role == TypeRole::kConst ||
        (role == TypeRole::kParameter &&
         (scope.site == Site::kOp || scope.site == Site::kFn || scope.site == Site::kActor ||
          scope.site == Site::kOptimizer || scope.site == Site::kSchedule ||
          scope.site == Site::kTopology));
    if (by_compiler && tensor->dtype == DType::kBool && !tensor->has_dims) {
      return AddType(scope, CompileTimeType{CompileTimeKind::kBool}, type.range);
    }
    TensorType resolved;
    resolved.dtype = tensor->dtype;
    resolved.dims = ResolveDims(scope, tensor->dims, role);
    return AddType(scope, std::move(resolved), type.range);
  }
  if (const auto* named = std::get_if<syntax::NamedType>(&type.node)) {
    return ResolveNamedType(scope, *named, type.range, role);
  }
  if (const auto* list = std::get_if<syntax::ListType>(&type.node)) {
    TypeId element = ResolveType(scope, list->element, role);
    return AddType(scope, ListType{element, ResolveListLength(scope, list->length, role)},
                   type.range);
  }
  if (const auto* bytes = std::get_if<syntax::BytesType>(&type.node)) {
    return AddType(scope, ResolveBytes(scope, *bytes, type.range, role), type.range);
  }
  TupleType resolved;
  if (const auto* tuple = std::get_if<syntax::TupleType>(&type.node)) {
    std::map<std::string, Range> names;
    for (const syntax::TupleType::Field& field : tuple->fields) {
      TypeId field_type = ResolveType(scope, field.type, role);
      resolved.fields.push_back({field.name ? field.name->text : "", field_type});
      if (!field.name) continue;
      auto [first, added] = names.emplace(field.name->text, field.name->range);
      if (added) continue;
      scope
          .Report(Code::kE0302, field.name->range,
                  fmt::format("field `{}` is declared twice", field.name->text))
          .AddNote(first->second, "the first one is here");
    }
  }
  return AddType(scope, std::move(resolved), type.range);
}

}  // namespace cgraph::check
