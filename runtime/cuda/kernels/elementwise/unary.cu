// Kernels of the operations of one operand: Exp_f32, ...
#include "runtime/cuda/kernels/elementwise/elements.h"

namespace cgraph::cuda {

using namespace device;  // the operations

#define UNARY_KERNEL(dtype, type, operation)                                \
  KERNEL(operation##_##dtype, (Guard guard, const __grid_constant__ Elementwise<1> arguments)) {    \
    if (Enter(guard)) ElementLoop<operation, type, type>::Run(arguments);   \
  }
#define UNARY(name, operation, dtypes) FOR_##dtypes(UNARY_KERNEL, operation)
#include "runtime/device/kernels/elementwise/operations.def"

}  // namespace cgraph::cuda
