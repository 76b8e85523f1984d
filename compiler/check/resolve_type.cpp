// Types as written, with their names resolved.
#include <utility>

#include <fmt/format.h>

#include "compiler/check/names.h"
#include "compiler/check/resolver.h"

namespace cgraph::check {

using namespace program;

TypeId Resolver::AddType(decltype(Type::node) node, Range range) {
  return program_.types.Add({std::move(node), range});
}

Static Resolver::Declared(TypeId type) const {
  Static known = StaticOf(program_, type);
  if (known.kind == Static::kTensor) known.declared = {type, signature_, locals_};
  return known;
}

TypeId Resolver::ResolveType(syntax::TypeId id, TypeRole role) {
  const syntax::Type& type = module_.file.types[id];
  if (const auto* tensor = std::get_if<syntax::TensorType>(&type.node)) {
    bool by_compiler = role == TypeRole::kConst ||
                       (role == TypeRole::kParameter &&
                        (site_ == Site::kOp || site_ == Site::kFn || site_ == Site::kActor));
    if (by_compiler && tensor->dtype == DType::kBool && !tensor->has_dims) {
      return AddType(CompileTimeType{CompileTimeKind::kBool}, type.range);
    }
    TensorType resolved;
    resolved.dtype = tensor->dtype;
    resolved.dims = ResolveDims(tensor->dims, role);
    return AddType(std::move(resolved), type.range);
  }
  if (const auto* named = std::get_if<syntax::NamedType>(&type.node)) {
    return ResolveNamedType(*named, type.range, role);
  }
  if (const auto* list = std::get_if<syntax::ListType>(&type.node)) {
    TypeId element = ResolveType(list->element, role);
    return AddType(ListType{element, ResolveListLength(list->length, role)}, type.range);
  }
  if (const auto* bytes = std::get_if<syntax::BytesType>(&type.node)) {
    return AddType(ResolveBytes(*bytes, type.range, role), type.range);
  }
  TupleType resolved;
  if (const auto* tuple = std::get_if<syntax::TupleType>(&type.node)) {
    std::map<std::string, Range> names;
    for (const syntax::TupleType::Field& field : tuple->fields) {
      TypeId field_type = ResolveType(field.type, role);
      resolved.fields.push_back({field.name ? field.name->text : "", field_type});
      if (!field.name) continue;
      auto [first, added] = names.emplace(field.name->text, field.name->range);
      if (added) continue;
      Report(Code::kE0302, field.name->range,
             fmt::format("field `{}` is declared twice", field.name->text))
          .AddNote(first->second, "the first one is here");
    }
  }
  return AddType(std::move(resolved), type.range);
}

// `bytes[<= N]` is a u8 tensor of one dimension of its own, which no other type mentions.
TensorType Resolver::ResolveBytes(const syntax::BytesType& type, Range range, TypeRole role) {
  auto outer = std::exchange(in_type_, role);
  const ExprId limit = ResolveInt(type.bound, "a bound").id;
  in_type_ = outer;
  const bool opens = signature_ && site_ != Site::kOp &&
                     (role == TypeRole::kParameter || role == TypeRole::kResult ||
                      role == TypeRole::kHint);
  if (!opens) {
    Report(Code::kE0713, range,
           "`bytes` is of a length that is known only while running: it can be a parameter, a "
           "result or a hint in a graph, method or fn; elsewhere write u8[N]");
    return PoisonType();
  }
  const DimVariableId length = signature_->dim_variables.Add({"length", false, range});
  BindDim(length);
  Dim dim{.kind = Dim::kBounded, .variable = length, .expr = limit, .range = range};
  return {.dtype = DType::kU8, .dims = {dim}};
}

std::optional<GenericId> Resolver::FindGeneric(const std::string& name) const {
  if (!signature_) return std::nullopt;
  for (GenericId id : signature_->generics.Ids()) {
    if (signature_->generics[id].name == name) return id;
  }
  return std::nullopt;
}

TypeId Resolver::ResolveNamedType(const syntax::NamedType& type, Range range, TypeRole role) {
  const std::string& name = type.name.text;
  if (auto generic = FindGeneric(name)) {
    TensorType resolved;
    resolved.generic = *generic;
    resolved.dims = ResolveDims(type.dims, role);
    return AddType(std::move(resolved), range);
  }
  static const std::map<std::string, CompileTimeKind> kKinds = {
      {"int", CompileTimeKind::kInt},
      {"float", CompileTimeKind::kFloat},
      {"str", CompileTimeKind::kStr}};
  auto kind = kKinds.find(name);
  if (kind != kKinds.end()) {
    if (type.has_dims) {
      Report(Code::kE0304, range,
             fmt::format("`{}` is known at compile time and has no dimensions; a list of them is "
                         "written [{}; 4], a tensor has a dtype such as i64 or f32",
                         name, name));
    }
    return AddType(CompileTimeType{kind->second}, range);
  }
  TypeId poison = AddType(PoisonType(), range);
  if (name == "opaque") {
    Report(Code::kE0715, range, "`opaque` is not in the language yet; values are tensors");
    return poison;
  }
  Found found = FindName(checker_, module_, name, type.name.range);
  if (found.reported || (!found.symbol && checker_.syntax_errors)) return poison;
  if (found.symbol) {
    Report(Code::kE0304, type.name.range,
           fmt::format("`{}` is not a type; values are tensors such as f32[4], lists, tuples, and "
                       "int, float, bool, str",
                       name))
        .AddNote(found.symbol->range, "declared here");
    return poison;
  }
  std::vector<std::string> candidates = {"int", "float", "str"};
#define DTYPE(id, name, bytes, class) candidates.push_back(name);
#include "compiler/base/dtypes.def"
  if (signature_) {
    for (const Generic& generic : signature_->generics) candidates.push_back(generic.name);
  }
  Diagnostic& diagnostic =
      Report(Code::kE0304, type.name.range, fmt::format("`{}` is not a type", name));
  if (!checker_.Translate(diagnostic, type.name.range, name)) {
    checker_.Suggest(diagnostic, type.name.range, name, candidates);
  }
  return poison;
}

}  // namespace cgraph::check
