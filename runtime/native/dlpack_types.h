// A plan's dtypes as DLPack states them.
#ifndef CGRAPH_RUNTIME_NATIVE_DLPACK_TYPES_H_
#define CGRAPH_RUNTIME_NATIVE_DLPACK_TYPES_H_

#include <cstdint>

#include <cgraph_extern.h>

#include "runtime/plan/kinds.h"
#include "runtime/plan/plan.h"

namespace cgraph::native {

inline DLDataType DLPackTypeOf(plan::DType dtype) {
  const auto type = [&](int code) {
    const auto bits = static_cast<uint8_t>(8 * plan::DTypeBytes(dtype));
    return DLDataType{static_cast<uint8_t>(code), bits, 1};
  };
  switch (dtype) {
    case plan::DType::bool_:
      return type(CGRAPH_DLBOOL);
    case plan::DType::u8:
      return type(kDLUInt);
    case plan::DType::i8:
    case plan::DType::i32:
    case plan::DType::i64:
      return type(kDLInt);
    case plan::DType::bf16:
      return type(kDLBfloat);
    case plan::DType::f16:
    case plan::DType::f32:
    case plan::DType::f64:
      return type(kDLFloat);
  }
  return type(kDLOpaqueHandle);
}

}  // namespace cgraph::native

#endif  // CGRAPH_RUNTIME_NATIVE_DLPACK_TYPES_H_
