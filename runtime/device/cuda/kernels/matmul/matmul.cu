// Matrix products for every dtype of numbers and any extents, in tiles that a block adds up from
// strips of the operands in shared memory. f16 and bf16 are added up in f32; integers wrap around.
// The terms of an element are added in the order of k, so its bits depend on nothing else.
#include "runtime/device/cuda/kernels/device_numbers.h"
#include "runtime/device/cuda/kernels/matmul/arguments.h"
#include "runtime/device/numbers/binary_format.h"

namespace cgraph::cuda {

// How the terms of a product are added up. Integers of up to four bytes have their low bits in 32.
template <typename T, bool floating = kIsFloat<T>>
struct Terms {
  using Sum = Compute<T>;
  static __device__ Sum Added(Sum sum, Sum a, Sum b) { return device::Fma(a, b, sum); }
};
template <typename T>
struct Terms<T, false> {
  using Sum = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  static __device__ Sum Added(Sum sum, T a, T b) {
    return sum + static_cast<Sum>(a) * static_cast<Sum>(b);
  }
};

// `B`: the elements of b; those of a and c are T.
template <typename T, typename B = T>
class TiledProduct {
 public:
  static constexpr int kTile = kProductTile, kDepth = 16, kThreads = 256;

  struct Shared {
    Dims a, b, c;
    Compute<T> left[kDepth][kTile + 1], right[kDepth][kTile + 1];
  };

  // All threads of a block of kThreads call it.
  __device__ TiledProduct(const Matmul& matmul, Shared& shared) : matmul_(matmul), shared_(shared) {
    if (threadIdx.x == 0) {
      shared.a = DimsOf(matmul.a);
      shared.b = DimsOf(matmul.b);
      shared.c = DimsOf(matmul.c);
    }
    __syncthreads();
    shape_ = ShapeOf(matmul, shared.a, shared.b, shared.c);
  }

  __device__ void Run() {
    const int64_t columns = (shape_.n + kTile - 1) / kTile;
    const int64_t rows = (shape_.m + kTile - 1) / kTile;
    const int64_t tiles = shape_.tiles();
    for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      const Quotient row = Divided(tile, columns);
      const Quotient matrix = Divided(row.whole, rows);
      const bool one = shape_.matrices == 1;
      a_ = static_cast<const T*>(matmul_.a.data);
      b_ = static_cast<const B*>(matmul_.b.data);
      if (!one) {
        a_ += MatrixOf(shared_.a, shared_.c, matrix.whole) * shape_.m * shape_.k;
        b_ += MatrixOf(shared_.b, shared_.c, matrix.whole) * shape_.k * shape_.n;
      }
      first_row_ = matrix.rest * kTile;
      first_column_ = row.rest * kTile;
      RunTile(static_cast<T*>(matmul_.c.data) + matrix.whole * shape_.m * shape_.n);
    }
  }

 private:
  using Sum = typename Terms<T>::Sum;
  static constexpr int kEdge = 16, kEach = kTile / kEdge;        // threads, and elements of each
  static constexpr int kLoads = kTile * kDepth / kThreads;

  __device__ void RunTile(T* c) {
    const int row = static_cast<int>(threadIdx.x) / kEdge;
    const int column = static_cast<int>(threadIdx.x) % kEdge;
    Sum sums[kEach][kEach] = {};
    Fetch(0);
    for (int64_t l = 0; l < shape_.k; l += kDepth) {
      Share();
      __syncthreads();
      if (l + kDepth < shape_.k) Fetch(l + kDepth);
      CGRAPH_UNROLL for (int d = 0; d < kDepth; ++d) {
        Compute<T> left[kEach], right[kEach];
        CGRAPH_UNROLL for (int i = 0; i < kEach; ++i) left[i] = shared_.left[d][row + i * kEdge];
        CGRAPH_UNROLL for (int j = 0; j < kEach; ++j) {
          right[j] = shared_.right[d][column + j * kEdge];
        }
        CGRAPH_UNROLL for (int i = 0; i < kEach; ++i) {
          CGRAPH_UNROLL for (int j = 0; j < kEach; ++j) {
            sums[i][j] = Terms<T>::Added(sums[i][j], left[i], right[j]);
          }
        }
      }
      __syncthreads();
    }
    CGRAPH_UNROLL for (int i = 0; i < kEach; ++i) {
      const int64_t r = first_row_ + row + i * kEdge;
      CGRAPH_UNROLL for (int j = 0; j < kEach; ++j) {
        const int64_t s = first_column_ + column + j * kEdge;
        if (r < shape_.m && s < shape_.n) c[r * shape_.n + s] = Stored<T>(sums[i][j]);
      }
    }
  }

  // An element of a strip: neighbouring threads read what lies side by side in memory.
  struct Place {
    int depth, edge;
  };
  static __device__ Place PlaceOf(int load, bool depth_first) {
    const int i = static_cast<int>(threadIdx.x) + load * kThreads;
    if (depth_first) return {i % kDepth, i / kDepth};
    return {i / kTile, i % kTile};
  }

  // Reads this thread's elements of the strips that begin at l, for which the block waits later.
  __device__ void Fetch(int64_t l) {
    CGRAPH_UNROLL for (int load = 0; load < kLoads; ++load) {
      const Place left = PlaceOf(load, !matmul_.transpose_a);
      left_[load] = At(a_, first_row_ + left.edge, shape_.m, l + left.depth, matmul_.transpose_a);
      const Place right = PlaceOf(load, matmul_.transpose_b);
      right_[load] =
          At(b_, first_column_ + right.edge, shape_.n, l + right.depth, !matmul_.transpose_b);
    }
  }
  // Returns the element of a row of an operand that lies as [edge, k] or, where k comes first, as
  // [k, edge]; 0 outside.
  template <typename Element>
  __device__ Compute<T> At(const Element* from, int64_t row, int64_t rows, int64_t l,
                           bool k_first) const {
    if (row >= rows || l >= shape_.k) return Compute<T>(0);
    return Widened(from[k_first ? l * rows + row : row * shape_.k + l]);
  }
  __device__ void Share() {
    CGRAPH_UNROLL for (int load = 0; load < kLoads; ++load) {
      const Place left = PlaceOf(load, !matmul_.transpose_a);
      shared_.left[left.depth][left.edge] = left_[load];
      const Place right = PlaceOf(load, matmul_.transpose_b);
      shared_.right[right.depth][right.edge] = right_[load];
    }
  }

  const Matmul& matmul_;
  Shared& shared_;
  ProductShape shape_;
  const T* a_ = nullptr;
  const B* b_ = nullptr;
  int64_t first_row_ = 0, first_column_ = 0;
  Compute<T> left_[kLoads], right_[kLoads];
};

#define MATMUL_KERNEL(dtype, type, ...)                    \
  KERNEL(Matmul_##dtype, (Guard guard, const __grid_constant__ Matmul matmul)) {   \
    __shared__ TiledProduct<type>::Shared shared;          \
    if (Enter(guard)) TiledProduct<type>(matmul, shared).Run(); \
  }
FOR_kNumber(MATMUL_KERNEL)

// An f32 times weights of a narrower dtype.
#define WEIGHTS_KERNEL(dtype, type)                                                          \
  KERNEL(MatmulWeights_##dtype, (Guard guard, const __grid_constant__ Matmul matmul)) {      \
    __shared__ TiledProduct<float, type>::Shared shared;                                     \
    if (Enter(guard)) TiledProduct<float, type>(matmul, shared).Run();                       \
  }
WEIGHTS_KERNEL(f16, F16)
WEIGHTS_KERNEL(bf16, BF16)

// Finds that the extents of the operands do not fit each other.
KERNEL(CheckMatmul, (Guard guard, const __grid_constant__ Matmul matmul)) {
  if (!Enter(guard)) return;
  if (!ExtentsFit(matmul, DimsOf(matmul.a), DimsOf(matmul.b), DimsOf(matmul.c))) Fail(guard, 0);
}

}  // namespace cgraph::cuda
