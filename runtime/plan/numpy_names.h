// The dtypes' names in Python, for messages that say how an array is made to fit.
#ifndef CGRAPH_RUNTIME_PLAN_NUMPY_NAMES_H_
#define CGRAPH_RUNTIME_PLAN_NUMPY_NAMES_H_

#include <string>

#include "runtime/plan/plan.h"

namespace cgraph::plan {

// Returns "np.float32", where NumPy is imported as `module`. NumPy has no bf16; ml_dtypes does.
inline std::string NumpyName(DType dtype, const std::string& module) {
  switch (dtype) {
    case DType::bool_: return module + ".bool_";
    case DType::i8: return module + ".int8";
    case DType::u8: return module + ".uint8";
    case DType::i32: return module + ".int32";
    case DType::i64: return module + ".int64";
    case DType::f16: return module + ".float16";
    case DType::bf16: return "ml_dtypes.bfloat16";
    case DType::f32: return module + ".float32";
    case DType::f64: return module + ".float64";
  }
  return "";
}

}  // namespace cgraph::plan

#endif  // CGRAPH_RUNTIME_PLAN_NUMPY_NAMES_H_
