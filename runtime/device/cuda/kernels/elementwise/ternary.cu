// Kernels of the operations of three operands that give their dtype: Clamp_f32, ...
#include "runtime/device/cuda/kernels/elementwise/elements.h"

namespace cgraph::cuda {

using namespace device;  // the operations

#define TERNARY_KERNEL(dtype, type, operation) \
  ELEMENTWISE_KERNEL(operation##_##dtype, 3, operation, type, type, type, type)
#define TERNARY(name, operation, dtypes) FOR_##dtypes(TERNARY_KERNEL, operation)
#include "runtime/device/cpu/kernels/elementwise/operations.def"

}  // namespace cgraph::cuda
