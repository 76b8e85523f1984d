// Questions about a Program that several phases ask.
#include "compiler/program/program.h"

#include <algorithm>

namespace cgraph::program {

const char* Spelling(Builtin builtin) {
  switch (builtin) {
    case Builtin::kZip: return "zip";
    case Builtin::kItems:
      return "items";
    case Builtin::kLen: return "len";
    case Builtin::kGrad: return "grad";
    case Builtin::kUpdateAll: return "update_all";
    case Builtin::kGlobalNorm: return "global_norm";
    case Builtin::kAssert: return "assert";
    case Builtin::kBroadcast: return "broadcast";
    case Builtin::kDrop: return "drop";
    case Builtin::kInsert: return "insert";
    case Builtin::kPermuted: return "permuted";
    case Builtin::kInferred: return "inferred";
    case Builtin::kSize: return "size";
    case Builtin::kRank: return "rank";
    case Builtin::kTotal: return "total";
    case Builtin::kWidth: return "width";
    case Builtin::kBounded: return "bounded";
  }
  return "?";
}

const char* Spelling(CompileTimeKind kind) {
  switch (kind) {
    case CompileTimeKind::kInt: return "int";
    case CompileTimeKind::kFloat: return "float";
    case CompileTimeKind::kBool: return "bool";
    case CompileTimeKind::kStr: return "str";
  }
  return "?";
}

const char* Spelling(DTypeBound bound) {
  switch (bound) {
    case DTypeBound::kAny: return "any";
    case DTypeBound::kNumber: return "number";
    case DTypeBound::kFloat: return "float";
    case DTypeBound::kInt: return "int";
  }
  return "?";
}

bool MayWeigh(DType weights, DType dtype) {
  const bool half = weights == DType::kF16 || weights == DType::kBF16;
  return weights == dtype || (dtype == DType::kF32 && half);
}

MethodId FindMethod(const Program& program, ActorId actor, const std::string& name) {
  const std::map<std::string, MethodId>& names = program.actors[actor].method_names;
  const auto found = names.find(name);
  return found != names.end() ? found->second : MethodId();
}

bool IsTrained(const Program& program, ActorId actor) {
  return std::any_of(program.places.begin(), program.places.end(), [&](const Place& place) {
    return place.trained && place.actor == actor;
  });
}

}  // namespace cgraph::program
