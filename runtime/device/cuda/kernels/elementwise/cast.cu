// Kernels of casts between all dtypes: Cast_f32_i8, ... A bool is read as a byte.
#include "runtime/device/cuda/kernels/elementwise/cast_operations.h"
#include "runtime/device/cuda/kernels/elementwise/elements.h"

namespace cgraph::cuda {

#define CAST_KERNEL(to, to_type, from, from_type)                                        \
  ELEMENTWISE_KERNEL(Cast_##from##_##to, 1, Cast<to_type>::Operation<from_type>,         \
                     to_type, from_type)
#define CASTS_FROM(from, from_type)           \
  FOR_kNumber(CAST_KERNEL, from, from_type)   \
  ELEMENTWISE_KERNEL(Cast_##from##_bool, 1, CastToBool, uint8_t, from_type)

CASTS_FROM(i8, int8_t)
CASTS_FROM(u8, uint8_t)
CASTS_FROM(i32, int32_t)
CASTS_FROM(i64, int64_t)
CASTS_FROM(f16, F16)
CASTS_FROM(bf16, BF16)
CASTS_FROM(f32, float)
CASTS_FROM(f64, double)

}  // namespace cgraph::cuda
