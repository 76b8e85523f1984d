// What kernels of reductions and cumulative sums take.
//
// Layout: how a tensor is seen by a reduction, as columns that are reduced each to one element of
// the result. Extents that the host knows are laid out on the host, others on the device.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_REDUCTIONS_ARGUMENTS_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_REDUCTIONS_ARGUMENTS_H_

#include "runtime/device/cuda/kernels/dims.h"

namespace cgraph::cuda {

// Positions: places in a tensor, counted in row-major order of some of its dimensions, which stand
// here from the innermost out.
struct Positions {
  int64_t rank;
  int64_t count;
  int64_t extents[kMaxRank];
  int64_t strides[kMaxRank];  // in elements

  constexpr void Append(int64_t extent, int64_t stride) {
    count *= extent;
    if (extent == 1) return;
    const int last = rank - 1;
    if (rank > 0 && stride == strides[last] * extents[last]) {
      extents[last] *= extent;
      return;
    }
    extents[rank] = extent;
    strides[rank++] = stride;
  }
};

struct Layout {
  Positions columns;  // each gives one element of the result, in its order
  Positions along;    // within a column
};

// Which dimensions are reduced: all; one; or those that the result lacks or has with extent 1.
inline constexpr int32_t kAllDims = -1, kBroadcastDims = -2;

// Fills a layout where it lies; it is not returned for the reason that FillWalk() has
// (elementwise/arguments.h).
constexpr void FillLayout(const Dims& x, const Dims& out, int32_t dim, Layout& layout) {
  layout.columns.rank = layout.along.rank = 0;
  layout.columns.count = layout.along.count = 1;
  int64_t stride = 1;
  CGRAPH_KEEP_LOOP for (int i = 1; i <= x.rank; ++i) {
    const int64_t extent = x.of[x.rank - i];
    const bool kept = dim == kBroadcastDims
                          ? i <= out.rank && out.of[out.rank - i] == extent
                          : dim != kAllDims && dim != x.rank - i;
    Positions& positions = kept ? layout.columns : layout.along;
    positions.Append(extent, stride);
    stride *= extent;
  }
  // Nothing is written beyond the result, whatever the operand's extents are.
  layout.columns.count = out.elements();
}

// What the kernels of reductions take.
struct Reduction {
  View x, out;
  int32_t dim = kAllDims;
  // The threads of a block: `width` columns, each by `height` threads. Neighbouring threads are in
  // one column where columns are contiguous, else in neighbouring columns.
  int32_t width = 1, height = 1;
  int32_t contiguous = false;
  // Columns are cut into so many parts, whose results go to `partials`, [parts, columns], and are
  // reduced by a second grid.
  int64_t parts = 1;
  void* partials = nullptr;
  int32_t second = false;
  int32_t known = false;  // whether the host knew all extents; else `layout` is made on the device
  Layout layout = {};
};

static_assert(kDense<Reduction>);

// ---- cumulative sums ----------------------------------------------------------------------------

inline constexpr int kJoiningThreads = 256;  // of a block that joins the parts of a row

// Rows are cut into parts of `length` elements, of which a thread each adds up what there is; then
// each part begins with the sum of those before it.
struct Cumulative {
  View x;
  void* out = nullptr;
  void* sums = nullptr;  // [parts, rows] of 8 bytes; not used where there is one part
  int32_t dim = 0;
  int32_t from_end = false;
  int64_t parts = 1, length = 0;
};
static_assert(kDense<Cumulative>);

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_REDUCTIONS_ARGUMENTS_H_
