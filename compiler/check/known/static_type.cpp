#include "compiler/check/known/static_type.h"

#include "compiler/program/text.h"
#include "llvm/ADT/StringExtras.h"

namespace cgraph::check {

using namespace program;

namespace {

// A pair of pairs of pairs doubles with every `let`; beyond this nothing is tracked any more.
constexpr int kMaxWeight = 256;

Static Limited(Static type) {
  for (const Static& part : type.parts) type.weight += part.weight;
  return type.weight > kMaxWeight ? Static() : type;
}

}  // namespace

Static Static::List(Static element) {
  Static list = Of(kList);
  list.parts.push_back(std::move(element));
  return Limited(std::move(list));
}

Static Static::Tuple(std::vector<Static> parts, std::vector<std::string> names) {
  Static tuple = Of(kTuple);
  tuple.parts = std::move(parts);
  tuple.names = std::move(names);
  return Limited(std::move(tuple));
}

bool IsPoison(const Type& type) {
  const auto* tensor = std::get_if<TensorType>(&type.node);
  return tensor && !tensor->dtype && !tensor->generic.valid();
}

Static StaticOf(const Program& program, TypeId id) {
  const Type& type = program.types[id];
  if (IsPoison(type)) return Static();
  if (const auto* tensor = std::get_if<TensorType>(&type.node)) {
    bool has_run = false;
    for (const Dim& dim : tensor->dims) has_run |= dim.kind == Dim::kRun;
    return Static::Tensor(tensor->dtype, has_run ? -1 : static_cast<int>(tensor->dims.size()));
  }
  if (const auto* compile_time = std::get_if<CompileTimeType>(&type.node)) {
    switch (compile_time->kind) {
      case CompileTimeKind::kInt: return Static::Of(Static::kInt);
      case CompileTimeKind::kFloat: return Static::Of(Static::kFloat);
      case CompileTimeKind::kBool: return Static::Of(Static::kBool);
      case CompileTimeKind::kStr: return Static::Of(Static::kStr);
    }
  }
  if (const auto* list = std::get_if<ListType>(&type.node)) {
    return Static::List(StaticOf(program, list->element));
  }
  std::vector<Static> parts;
  std::vector<std::string> names;
  for (const TupleType::Field& field : std::get<TupleType>(type.node).fields) {
    parts.push_back(StaticOf(program, field.type));
    names.push_back(field.name);
  }
  return Static::Tuple(std::move(parts), std::move(names));
}

Static Join(const Static& a, const Static& b) {
  if (a.kind != b.kind) return Static();
  Static both = a;
  switch (a.kind) {
    case Static::kTensor:
      if (a.dtype != b.dtype) both.dtype.reset();
      if (a.rank != b.rank) both.rank = -1;
      if (a.declared.type != b.declared.type) both.declared = {};
      return both;
    case Static::kList:
      return Static::List(Join(a.parts[0], b.parts[0]));
    case Static::kTuple: {
      if (a.names != b.names) return Static();
      std::vector<Static> parts;
      for (size_t i = 0; i < a.parts.size(); ++i) parts.push_back(Join(a.parts[i], b.parts[i]));
      return Static::Tuple(std::move(parts), a.names);
    }
    case Static::kPlace:
    case Static::kPlaces:
      return a.actor == b.actor && a.indices == b.indices ? a : Static();
    default:
      return both;
  }
}

std::string Describe(const Program& program, const Static& type) {
  switch (type.kind) {
    case Static::kUnknown: return "a value";
    case Static::kNothing: return "nothing";
    case Static::kInt: return "a compile-time int";
    case Static::kFloat: return "a compile-time float";
    case Static::kBool: return "a compile-time bool";
    case Static::kStr: return "a compile-time str";
    case Static::kList: return "a list";
    case Static::kTuple: return "a tuple of " + std::to_string(type.parts.size());
    case Static::kPlace:
    case Static::kPlaces: {
      std::string what = type.kind == Static::kPlace ? "a place" : "an array of places";
      return type.actor.valid() ? what + " of actor `" + program.actors[type.actor].name + "`"
                                : what;
    }
    case Static::kDevice: return "a device";
    case Static::kDims: return "a run of dimensions";
    case Static::kTensor: break;
  }
  std::string dims;
  if (type.dtype && type.declared.type.valid()) {
    const auto& [id, signature, locals] = type.declared;
    const llvm::StringRef name = DTypeName(*type.dtype);
    dims = TextPrinter(program, signature, locals).Text(id).substr(name.size());
  } else if (type.rank < 0) {
    dims = "[...]";
  } else if (type.rank > 0) {
    dims = "[" + llvm::join(std::vector<std::string>(type.rank, "?"), ", ") + "]";
  }
  if (type.dtype) {
    llvm::StringRef name = DTypeName(*type.dtype);
    return (name.startswith("i") || name.startswith("f") ? "an " : "a ") + name.str() + dims;
  }
  return type.rank < 0 ? "a tensor" : "a tensor of rank " + std::to_string(type.rank);
}

}  // namespace cgraph::check
