// Broadcasting: a walk over a result in row-major order, and the steps that each operand takes
// along.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ELEMENTWISE_WALK_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ELEMENTWISE_WALK_H_

#include <algorithm>
#include <cstdint>
#include <span>

#include "runtime/device/cpu/kernels/elementwise/element_loops.h"
#include "runtime/device/kernel.h"

namespace cgraph::device {

// The dimensions from the innermost out, merged where every operand walks them alike. The innermost
// stride of an operand is 1 or, where the operand is broadcast, 0: operands are dense.
template <int kMost = kMostOperands>  // operands at most
class Walk {
 public:
  int rank = 0;
  int64_t extents[kMaxRank];
  int64_t strides[kMost][kMaxRank];  // in elements

  Walk(std::span<const Tensor> in, const Tensor& out) : operands_(static_cast<int>(in.size())) {
    int64_t sizes[kMost];
    std::fill(sizes, sizes + kMost, 1);
    for (int i = 1; i <= out.rank; ++i) {
      int64_t steps[kMost];
      for (int o = 0; o < operands_; ++o) steps[o] = Step(in[o], i, sizes[o]);
      const int64_t extent = out.dims[out.rank - i];
      if (extent != 1) Append(extent, steps);
    }
    if (rank > 0) return;
    int64_t ones[kMost];
    std::fill(ones, ones + kMost, 1);
    Append(1, ones);
  }

  // Calls row(in, out) for each of the innermost rows, with where it begins; `bytes` are the
  // operands' widths.
  template <typename Row>
  void ForEachRow(const char* const* in, const int64_t* bytes, char* out, int64_t out_bytes,
                  Row row) const {
    const char* at[kMost];
    std::copy(in, in + operands_, at);
    int64_t index[kMaxRank] = {};
    for (;;) {
      row(at, out);
      out += extents[0] * out_bytes;
      int i = 1;
      for (; i < rank; ++i) {
        for (int o = 0; o < operands_; ++o) at[o] += strides[o][i] * bytes[o];
        if (++index[i] < extents[i]) break;
        for (int o = 0; o < operands_; ++o) at[o] -= extents[i] * strides[o][i] * bytes[o];
        index[i] = 0;
      }
      if (i >= rank) return;
    }
  }

 private:
  // Returns the stride of the i-th dimension from the end; `size` is the number of elements of the
  // dimensions after it.
  static int64_t Step(const Tensor& tensor, int i, int64_t& size) {
    if (i > tensor.rank || tensor.dims[tensor.rank - i] == 1) return 0;
    const int64_t stride = size;
    size *= tensor.dims[tensor.rank - i];
    return stride;
  }
  void Append(int64_t extent, const int64_t* steps) {
    bool merges = rank > 0;
    for (int o = 0; merges && o < operands_; ++o) {
      merges = steps[o] == strides[o][rank - 1] * extents[rank - 1];
    }
    if (merges) {
      extents[rank - 1] *= extent;
      return;
    }
    extents[rank] = extent;
    for (int o = 0; o < operands_; ++o) strides[o][rank] = steps[o];
    ++rank;
  }

  int operands_;
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ELEMENTWISE_WALK_H_
