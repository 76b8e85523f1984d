#include "runtime/python/binding/dlpack.h"

#include "runtime/plan/kinds.h"

namespace cgraph::python {

DLDataType DLPackTypeOf(plan::DType dtype) {
  const auto type = [&](int code) {
    const auto bits = static_cast<uint8_t>(8 * plan::DTypeBytes(dtype));
    return DLDataType{static_cast<uint8_t>(code), bits, 1};
  };
  switch (dtype) {
    case plan::DType::bool_:
      return type(kBoolCode);
    case plan::DType::u8:
      return type(kDLUInt);
    case plan::DType::bf16:
      return type(kDLBfloat);
    case plan::DType::f16:
    case plan::DType::f32:
    case plan::DType::f64:
      return type(kDLFloat);
    case plan::DType::i8:
    case plan::DType::i32:
    case plan::DType::i64:
      break;
  }
  return type(kDLInt);
}

std::optional<plan::DType> DTypeOf(DLDataType type) {
  for (size_t i = 0; i < kDTypes; ++i) {
    const auto dtype = static_cast<plan::DType>(i);
    const DLDataType ours = DLPackTypeOf(dtype);
    if (ours.code == type.code && ours.bits == type.bits && type.lanes == 1) return dtype;
  }
  return std::nullopt;
}

const char* DLPackCodeName(DLDataType type) {
  switch (type.code) {
    case kDLInt:
      return "int";
    case kDLUInt:
      return "uint";
    case kDLFloat:
      return "float";
    case kDLBfloat:
      return "bfloat";
    case kBoolCode:
      return "bool";
    default:
      return "a type of";
  }
}

}  // namespace cgraph::python
