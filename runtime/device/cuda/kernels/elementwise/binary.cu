// Kernels of the operations of two operands that give their dtype: Add_f32, ...
#include "runtime/device/cuda/kernels/elementwise/elements.h"

namespace cgraph::cuda {

using namespace device;  // the operations

#define BINARY_KERNEL(dtype, type, operation) \
  ELEMENTWISE_KERNEL(operation##_##dtype, 2, operation, type, type, type)
#define BINARY(name, operation, dtypes) FOR_##dtypes(BINARY_KERNEL, operation)
#include "runtime/device/cpu/kernels/elementwise/operations.def"

}  // namespace cgraph::cuda
