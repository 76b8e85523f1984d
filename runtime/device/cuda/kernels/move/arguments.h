// What kernels take that move parts of tensors.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_MOVE_ARGUMENTS_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_MOVE_ARGUMENTS_H_

#include <initializer_list>

#include "runtime/device/cuda/kernels/dims.h"

namespace cgraph::cuda {

// Some parts of a tensor, one behind the other along a dimension: [first, first + extent).
inline constexpr int kPartsTogether = 16;
struct Parts {
  View whole;
  int32_t dim = 0;
  int32_t width = 1;  // bytes of an element
  int32_t count = 0;
  int32_t into_parts = false;  // whether the whole is read and the parts are written
  struct Part {
    void* data = nullptr;
    int64_t first = 0, extent = 0;
  };
  Part part[kPartsTogether];
};
static_assert(kDense<Parts>);

// Elements from *from on, `length` of them, of a dimension of `extent`.
struct Span {
  const int64_t* from = nullptr;
  Extent length, extent;
};
struct Spans {
  int32_t count = 0;
  int32_t has_result = false;  // of one span: its result has `result` elements along the dimension
  Extent result;
  Span span[kMaxRank];
};
static_assert(kDense<Spans>);
// The codes of their failures; the numbers are from, length and extent, or length and result.
inline constexpr uint32_t kOutside = 0, kOtherResult = 1;

// The part of a tensor whose first corner lies at *at[i] of each dimension i.
struct Box {
  View into, part;
  const int64_t* at[kMaxRank] = {};
  void* out = nullptr;
  int64_t width = 1;  // bytes of an element
};
static_assert(kDense<Box>);

// A result whose dimension i is the operand's order[i].
struct Permutation {
  View x;
  void* out = nullptr;
  int32_t order[kMaxRank] = {};
};
static_assert(kDense<Permutation>);

// The result of a permutation in row-major order, read with strides: dimension 0 is the innermost,
// dimension 1, where there is one that lies closer together in the operand, is that one.
// Neighbouring dimensions that can be read as one are merged; those of extent 1 are dropped.
struct Strided {
  int32_t rank;
  int64_t count;
  int64_t extents[kMaxRank], from[kMaxRank], to[kMaxRank];
};
constexpr Strided StridedOf(const Dims& x, const int32_t* order) {
  Strided strided{0, x.elements(), {}, {}, {}};
  int64_t strides[kMaxRank] = {}, size = 1;
  for (int i = x.rank - 1; i >= 0; --i) {
    strides[i] = size;
    size *= x.of[i];
  }
  size = 1;
  int row = 0;  // of which the elements lie closest together in the operand
  CGRAPH_KEEP_LOOP for (int i = x.rank - 1; i >= 0; --i) {
    const int64_t extent = x.of[order[i]], stride = strides[order[i]];
    if (extent == 1) continue;
    const int last = strided.rank - 1;
    if (strided.rank > 0 && stride == strided.from[last] * strided.extents[last]) {
      strided.extents[last] *= extent;
    } else {
      if (strided.rank > 0 && stride < strided.from[row]) row = strided.rank;
      strided.extents[strided.rank] = extent;
      strided.from[strided.rank] = stride;
      strided.to[strided.rank++] = size;
    }
    size *= extent;
  }
  if (strided.rank == 0) {
    strided.rank = 1;
    strided.extents[0] = strided.from[0] = strided.to[0] = 1;
  }
  if (row > 1) {
    for (int64_t* numbers : {strided.extents, strided.from, strided.to}) {
      const int64_t number = numbers[1];
      numbers[1] = numbers[row];
      numbers[row] = number;
    }
  }
  return strided;
}

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_MOVE_ARGUMENTS_H_
