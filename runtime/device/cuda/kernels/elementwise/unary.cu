// Kernels of the operations of one operand: Exp_f32, ...
#include "runtime/device/cuda/kernels/elementwise/elements.h"

namespace cgraph::cuda {

using namespace device;  // the operations

#define UNARY_KERNEL(dtype, type, operation) \
  ELEMENTWISE_KERNEL(operation##_##dtype, 1, operation, type, type)
#define UNARY(name, operation, dtypes) FOR_##dtypes(UNARY_KERNEL, operation)
#include "runtime/device/cpu/kernels/elementwise/operations.def"

}  // namespace cgraph::cuda
