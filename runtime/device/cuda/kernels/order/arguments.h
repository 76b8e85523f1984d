// What kernels take that put the rows of a tensor in order.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ORDER_ARGUMENTS_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ORDER_ARGUMENTS_H_

#include "runtime/device/cuda/kernels/rows/arguments.h"

namespace cgraph::cuda {

inline constexpr int kOrderTile = 1024;  // entries that a block puts in order in shared memory

// Entries (runtime/device/cpu/kernels/order/entry.h) of a row lie side by side, `stride` of them
// from row to row. A row consists of runs, each in order: first as long as a tile, then merged two
// by two. Of a run no more than the first `kept` entries are there.
struct Ordering {
  View x;  // whose rows are put in order, along `dim`
  int32_t dim = 0;
  int32_t descending = false;
  int64_t stride = 0;
  int64_t kept = 0;
  int64_t run = 1;  // the length of the runs in `from`; of tiles: a power of two
  const void* from = nullptr;
  void* to = nullptr;
};
static_assert(kDense<Ordering>);

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ORDER_ARGUMENTS_H_
