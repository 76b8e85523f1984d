#include "runtime/python/binding/tensors/dlpack.h"

#include "runtime/native/dlpack_types.h"

namespace cgraph::python {

std::optional<plan::DType> DTypeOf(DLDataType type) {
  for (size_t i = 0; i < kDTypes; ++i) {
    const auto dtype = static_cast<plan::DType>(i);
    const DLDataType ours = native::DLPackTypeOf(dtype);
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
    case CGRAPH_DLBOOL:
      return "bool";
    default:
      return "a type of";
  }
}

}  // namespace cgraph::python
