// Kernels of the operations of two operands that give their dtype: Add_f32, ...
#include "runtime/cuda/kernels/elementwise/elements.h"

namespace cgraph::cuda {

using namespace device;  // the operations

#define BINARY_KERNEL(dtype, type, operation)                                     \
  KERNEL(operation##_##dtype, (Guard guard, const __grid_constant__ Elementwise<2> arguments)) {          \
    if (Enter(guard)) ElementLoop<operation, type, type, type>::Run(arguments);   \
  }
#define BINARY(name, operation, dtypes) FOR_##dtypes(BINARY_KERNEL, operation)
#include "runtime/device/kernels/elementwise/operations.def"

}  // namespace cgraph::cuda
