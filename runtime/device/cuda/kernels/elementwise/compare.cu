// Kernels of the comparisons, which give bools: Less_f32, ...
#include "runtime/device/cuda/kernels/elementwise/elements.h"

namespace cgraph::cuda {

using namespace device;  // the operations

#define COMPARE_KERNEL(dtype, type, operation) \
  ELEMENTWISE_KERNEL(operation##_##dtype, 2, operation, uint8_t, type, type)
#define COMPARE(name, operation, dtypes) FOR_##dtypes(COMPARE_KERNEL, operation)
#include "runtime/device/cpu/kernels/elementwise/operations.def"

}  // namespace cgraph::cuda
