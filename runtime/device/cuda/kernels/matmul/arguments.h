// What the kernels of matrix products take.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_MATMUL_ARGUMENTS_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_MATMUL_ARGUMENTS_H_

#include "runtime/device/cuda/kernels/dims.h"
#include "runtime/device/numbers/half.h"

namespace cgraph::cuda {

inline constexpr int kProductTile = 64;  // edge of the part of a result that a block makes at once

// c[..., m, n] = a[..., m, k] @ b[..., k, n], each operand possibly stored the other way round.
// Leading dimensions are a batch that broadcasts.
struct Matmul {
  View a, b, c;
  int64_t transpose_a = false, transpose_b = false;
  int64_t may_fold = false;  // a's batch is the result's: its matrices may be rows of one
};

// The extents of one product, and how many there are.
struct ProductShape {
  int64_t m, n, k, matrices;

  constexpr int64_t tiles() const {
    return matrices * ((m + kProductTile - 1) / kProductTile) *
           ((n + kProductTile - 1) / kProductTile);
  }
};
constexpr ProductShape ShapeOf(const Matmul& matmul, const Dims& a, const Dims& b, const Dims& c) {
  ProductShape shape{c.of[c.rank - 2], c.of[c.rank - 1],
                     a.of[a.rank - (matmul.transpose_a ? 2 : 1)], c.Product(0, c.rank - 2)};
  if (matmul.may_fold && b.Product(0, b.rank - 2) == 1) {
    shape.m *= shape.matrices;
    shape.matrices = shape.matrices > 0 ? 1 : 0;
  }
  return shape;
}

// Returns whether the extents of the operands fit each other.
constexpr bool ExtentsFit(const Matmul& matmul, const Dims& a, const Dims& b, const Dims& c) {
  return a.of[a.rank - (matmul.transpose_a ? 1 : 2)] == c.of[c.rank - 2] &&
         b.of[b.rank - (matmul.transpose_b ? 2 : 1)] == c.of[c.rank - 1] &&
         b.of[b.rank - (matmul.transpose_b ? 1 : 2)] ==
             a.of[a.rank - (matmul.transpose_a ? 2 : 1)];
}

// Returns which matrix of an operand goes into the i-th matrix of the result.
constexpr int64_t MatrixOf(const Dims& operand, const Dims& result, int64_t i) {
  int64_t matrix = 0, size = 1;
  CGRAPH_KEEP_LOOP for (int d = 3; d <= result.rank; ++d) {
    const int64_t extent = result.of[result.rank - d];
    if (d <= operand.rank && operand.of[operand.rank - d] != 1) {
      matrix += i % extent * size;
      size *= operand.of[operand.rank - d];
    }
    i /= extent;
  }
  return matrix;
}

// c[..., m] = x[..., k] times packed weights of 8 bits or, with a minimum, of 4.
struct PackedMatmul {
  View c;
  const void* x;
  const void* q;
  const device::F16* scale;
  const device::F16* minimum;
  int64_t groups, blocks;
};

static_assert(kDense<Matmul> && kDense<PackedMatmul>);

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_MATMUL_ARGUMENTS_H_
