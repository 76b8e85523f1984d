// causal_mask: elements (i, j) of each matrix [n, m] with j > i + m - n become -inf.
#include <limits>

#include "runtime/device/cuda/kernels/device_numbers.h"

namespace cgraph::cuda {

template <typename T>
__device__ void MaskCausally(const View& x, const View& out) {
  const Dims dims = DimsOf(x);
  const int64_t n = dims.of[dims.rank - 2], m = dims.of[dims.rank - 1], count = dims.elements();
  const T masked = static_cast<T>(-std::numeric_limits<float>::infinity());
  for (int64_t i = GridThread(); i < count; i += GridThreads()) {
    const Quotient row = Divided(i, m);
    const int64_t last = Divided(row.whole, n).rest + m - n;
    static_cast<T*>(out.data)[i] = row.rest > last ? masked : static_cast<const T*>(x.data)[i];
  }
}

#define CAUSAL_MASK_KERNEL(dtype, type, ...)                    \
  KERNEL(CausalMask_##dtype, (Guard guard, View x, View out)) { \
    if (Enter(guard)) MaskCausally<type>(x, out);               \
  }
FOR_kFloat(CAUSAL_MASK_KERNEL)

}  // namespace cgraph::cuda
