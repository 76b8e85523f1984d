// Kernels that move elements as bits: of one of two operands, and of one that is broadcast:
// Select_u32, Expand_u32, ...
#include "runtime/device/cuda/kernels/elementwise/elements.h"

namespace cgraph::cuda {

using namespace device;  // the operations

#define SELECT_KERNEL(bits, operation)                                              \
  ELEMENTWISE_KERNEL(operation##_u##bits, 3, operation, uint##bits##_t, uint8_t,    \
                     uint##bits##_t, uint##bits##_t)
#define SELECT(name, operation, dtypes)                    \
  SELECT_KERNEL(8, operation) SELECT_KERNEL(16, operation) \
  SELECT_KERNEL(32, operation) SELECT_KERNEL(64, operation)
#include "runtime/device/cpu/kernels/elementwise/operations.def"

struct Same {
  template <typename T>
  static constexpr T Of(T x) { return x; }
};
#define EXPAND_KERNEL(bits) \
  ELEMENTWISE_KERNEL(Expand_u##bits, 1, Same, uint##bits##_t, uint##bits##_t)
EXPAND_KERNEL(8)
EXPAND_KERNEL(16)
EXPAND_KERNEL(32)
EXPAND_KERNEL(64)

}  // namespace cgraph::cuda
