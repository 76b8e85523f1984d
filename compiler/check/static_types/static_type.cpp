#include "compiler/check/static_types/static_type.h"

#include "compiler/program/text.h"
#include "llvm/ADT/StringExtras.h"

namespace cgraph::check {

using namespace program;

namespace {

// A pair of pairs of pairs doubles with every `let`; beyond this nothing is tracked any more.
constexpr int kMaxWeight = 256;

StaticType Limited(StaticType type) {
  for (const StaticType& part : type.parts) type.weight += part.weight;
  return type.weight > kMaxWeight ? StaticType() : type;
}

}  // namespace

StaticType StaticType::List(StaticType element) {
  StaticType list = Of(kList);
  list.parts.push_back(std::move(element));
  return Limited(std::move(list));
}

StaticType StaticType::Tuple(std::vector<StaticType> parts, std::vector<std::string> names) {
  StaticType tuple = Of(kTuple);
  tuple.parts = std::move(parts);
  tuple.names = std::move(names);
  return Limited(std::move(tuple));
}

bool IsPoison(const Type& type) {
  const auto* tensor = std::get_if<TensorType>(&type.node);
  return tensor && !tensor->dtype && !tensor->generic.valid();
}

StaticType StaticOf(const Program& program, TypeId id) {
  const Type& type = program.types[id];
  if (IsPoison(type)) return StaticType();
  if (const auto* tensor = std::get_if<TensorType>(&type.node)) {
    bool has_run = false;
    for (const Dim& dim : tensor->dims) has_run |= dim.kind == Dim::kRun;
    return StaticType::Tensor(tensor->dtype, has_run ? -1 : static_cast<int>(tensor->dims.size()));
  }
  if (const auto* compile_time = std::get_if<CompileTimeType>(&type.node)) {
    switch (compile_time->kind) {
      case CompileTimeKind::kInt: return StaticType::Of(StaticType::kInt);
      case CompileTimeKind::kFloat: return StaticType::Of(StaticType::kFloat);
      case CompileTimeKind::kBool: return StaticType::Of(StaticType::kBool);
      case CompileTimeKind::kStr: return StaticType::Of(StaticType::kStr);
    }
  }
  if (const auto* list = std::get_if<ListType>(&type.node)) {
    return StaticType::List(StaticOf(program, list->element));
  }
  std::vector<StaticType> parts;
  std::vector<std::string> names;
  for (const TupleType::Field& field : std::get<TupleType>(type.node).fields) {
    parts.push_back(StaticOf(program, field.type));
    names.push_back(field.name);
  }
  return StaticType::Tuple(std::move(parts), std::move(names));
}

StaticType Join(const StaticType& a, const StaticType& b) {
  if (a.kind != b.kind) return StaticType();
  StaticType both = a;
  switch (a.kind) {
    case StaticType::kTensor:
      if (a.dtype != b.dtype) both.dtype.reset();
      if (a.rank != b.rank) both.rank = -1;
      if (a.declared.type != b.declared.type) both.declared = {};
      return both;
    case StaticType::kList:
      return StaticType::List(Join(a.parts[0], b.parts[0]));
    case StaticType::kTuple: {
      if (a.names != b.names) return StaticType();
      std::vector<StaticType> parts;
      for (size_t i = 0; i < a.parts.size(); ++i) parts.push_back(Join(a.parts[i], b.parts[i]));
      return StaticType::Tuple(std::move(parts), a.names);
    }
    case StaticType::kPlace:
    case StaticType::kPlaces:
      return a.actor == b.actor && a.indices == b.indices ? a : StaticType();
    default:
      return both;
  }
}

std::string Describe(const Program& program, const StaticType& type) {
  switch (type.kind) {
    case StaticType::kUnknown: return "a value";
    case StaticType::kNothing: return "nothing";
    case StaticType::kInt: return "a compile-time int";
    case StaticType::kFloat: return "a compile-time float";
    case StaticType::kBool: return "a compile-time bool";
    case StaticType::kStr: return "a compile-time str";
    case StaticType::kList: return "a list";
    case StaticType::kTuple: return "a tuple of " + std::to_string(type.parts.size());
    case StaticType::kPlace:
    case StaticType::kPlaces: {
      std::string what = type.kind == StaticType::kPlace ? "a place" : "an array of places";
      return type.actor.valid() ? what + " of actor `" + program.actors[type.actor].name + "`"
                                : what;
    }
    case StaticType::kDevice: return "a device";
    case StaticType::kDims: return "a run of dimensions";
    case StaticType::kTensor: break;
  }
  std::string dims;
  if (type.dtype && type.declared.type.valid()) {
    const auto& [id, signature, locals] = type.declared;
    const llvm::StringRef name = DTypeName(*type.dtype);
    dims = TextPrinter(program, signature, locals).Expanded(id).substr(name.size());
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
