// Kernels that choose between two operands, whose elements are moved as bits: Select_u32, ...
#include "runtime/cuda/kernels/elementwise/elements.h"

namespace cgraph::cuda {

using namespace device;  // the operations

#define SELECT_KERNEL(bits, operation)                                                        \
  KERNEL(operation##_u##bits, (Guard guard, Elementwise<3> arguments)) {                      \
    using Element = uint##bits##_t;                                                           \
    if (Enter(guard)) ElementLoop<operation, Element, uint8_t, Element, Element>::Run(arguments); \
  }
#define SELECT(name, operation, dtypes)                \
  SELECT_KERNEL(8, operation) SELECT_KERNEL(16, operation) \
  SELECT_KERNEL(32, operation) SELECT_KERNEL(64, operation)
#include "runtime/device/kernels/elementwise/operations.def"

}  // namespace cgraph::cuda
