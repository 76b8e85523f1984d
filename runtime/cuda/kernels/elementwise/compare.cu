// Kernels of the comparisons, which give bools: Less_f32, ...
#include "runtime/cuda/kernels/elementwise/elements.h"

namespace cgraph::cuda {

using namespace device;  // the operations

#define COMPARE_KERNEL(dtype, type, operation)                                       \
  KERNEL(operation##_##dtype, (Guard guard, const __grid_constant__ Elementwise<2> arguments)) {             \
    if (Enter(guard)) ElementLoop<operation, uint8_t, type, type>::Run(arguments);   \
  }
#define COMPARE(name, operation, dtypes) FOR_##dtypes(COMPARE_KERNEL, operation)
#include "runtime/device/kernels/elementwise/operations.def"

}  // namespace cgraph::cuda
