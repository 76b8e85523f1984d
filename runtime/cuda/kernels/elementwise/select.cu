// Kernels that move elements as bits: of one of two operands, and of one that is broadcast:
// Select_u32, Expand_u32, ...
#include "runtime/cuda/kernels/elementwise/elements.h"

namespace cgraph::cuda {

using namespace device;  // the operations

#define SELECT_KERNEL(bits, operation)                                                        \
  KERNEL(operation##_u##bits, (Guard guard, const __grid_constant__ Elementwise<3> arguments)) {                      \
    using Element = uint##bits##_t;                                                           \
    if (Enter(guard)) ElementLoop<operation, Element, uint8_t, Element, Element>::Run(arguments); \
  }
#define SELECT(name, operation, dtypes)                \
  SELECT_KERNEL(8, operation) SELECT_KERNEL(16, operation) \
  SELECT_KERNEL(32, operation) SELECT_KERNEL(64, operation)
#include "runtime/device/kernels/elementwise/operations.def"

struct Same {
  template <typename T>
  static constexpr T Of(T x) { return x; }
};
#define EXPAND_KERNEL(bits)                                                                 \
  KERNEL(Expand_u##bits, (Guard guard, const __grid_constant__ Elementwise<1> arguments)) { \
    using Element = uint##bits##_t;                                                         \
    if (Enter(guard)) ElementLoop<Same, Element, Element>::Run(arguments);                  \
  }
EXPAND_KERNEL(8)
EXPAND_KERNEL(16)
EXPAND_KERNEL(32)
EXPAND_KERNEL(64)

}  // namespace cgraph::cuda
