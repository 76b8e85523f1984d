// What elementwise kernels take, and how they go through a result with broadcast operands in
// row-major order (Walk).
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ELEMENTWISE_ARGUMENTS_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ELEMENTWISE_ARGUMENTS_H_

#include "runtime/device/cuda/kernels/dims.h"
#include "runtime/device/numbers/targets.h"

namespace cgraph::cuda {

// The dimensions from the innermost out, merged where every operand walks them alike; those of
// extent 1 are dropped. The innermost stride of an operand is 1 or, where the operand is broadcast,
// 0: operands are dense.
template <int operands>
struct Walk {
  int64_t count;  // elements of the result
  int64_t rank;   // 1 or more
  int64_t extents[kMaxRank];
  int64_t strides[operands][kMaxRank];  // in elements
};

// Fills a walk where it lies. As a function that returned it, it was miscompiled for GPUs by CUDA
// 13.0: the result took the place of `out` on the stack before the elements of `out` were counted,
// which nothing but a GPU shows.
template <int operands>
constexpr void FillWalk(const Dims (&in)[operands], const Dims& out, Walk<operands>& walk) {
  walk.count = out.elements();
  walk.rank = 0;
  int64_t sizes[operands] = {};  // of the dimensions of each operand that are behind
  for (int o = 0; o < operands; ++o) sizes[o] = 1;
  CGRAPH_KEEP_LOOP for (int i = 1; i <= out.rank; ++i) {
    int64_t steps[operands] = {};
    for (int o = 0; o < operands; ++o) {
      if (i > in[o].rank || in[o].of[in[o].rank - i] == 1) continue;
      steps[o] = sizes[o];
      sizes[o] *= in[o].of[in[o].rank - i];
    }
    const int64_t extent = out.of[out.rank - i];
    if (extent == 1) continue;
    const int last = walk.rank - 1;
    bool merges = walk.rank > 0;
    for (int o = 0; merges && o < operands; ++o) {
      merges = steps[o] == walk.strides[o][last] * walk.extents[last];
    }
    if (merges) {
      walk.extents[last] *= extent;
      continue;
    }
    walk.extents[walk.rank] = extent;
    for (int o = 0; o < operands; ++o) walk.strides[o][walk.rank] = steps[o];
    ++walk.rank;
  }
  if (walk.rank == 0) {
    walk.rank = 1;
    walk.extents[0] = 1;
    for (int o = 0; o < operands; ++o) walk.strides[o][0] = 1;
  }
}

template <int operands>
struct Elementwise {
  View in[operands];
  View out;
  int64_t known = false;  // whether the host knew all extents; else `walk` is made on the device
  Walk<operands> walk = {};
};

static_assert(kDense<Elementwise<3>>);

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ELEMENTWISE_ARGUMENTS_H_
