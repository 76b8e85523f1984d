// Permutations of dimensions. Where the innermost dimension stays, its elements are copied in
// packs; else squares of 32 by 32 elements go through shared memory, so that neighbouring threads
// read what lies close together, and write what lies side by side.
#include "runtime/device/cuda/kernels/device_numbers.h"
#include "runtime/device/cuda/kernels/move/arguments.h"
#include "runtime/device/cuda/kernels/pack.h"

namespace cgraph::cuda {

constexpr int kEdge = 32, kRowsTogether = 8;  // kEdge times kRowsTogether threads

// Where an element, or a square, lies in the operand and in the result.
struct FromTo {
  int64_t from, to;
};
__device__ inline FromTo PlaceOf(const Strided& strided, int first, int64_t at) {
  FromTo place{0, 0};
  CGRAPH_KEEP_LOOP for (int d = first; d < strided.rank; ++d) {
    const Quotient index = Divided(at, strided.extents[d]);
    place.from += index.rest * strided.from[d];
    place.to += index.rest * strided.to[d];
    at = index.whole;
  }
  return place;
}

template <typename T, int count>
__device__ void CopyPacks(const Strided& strided, const T* x, T* out) {
  for (int64_t i = GridThread(); i < strided.count / count; i += GridThreads()) {
    const FromTo place = PlaceOf(strided, 0, i * count);
    StorePack(out + place.to, LoadPack<T, count>(x + place.from));
  }
}

template <typename T>
__device__ void CopySquares(const Strided& strided, const T* x, T* out) {
  __shared__ T square[kEdge][kEdge + 1];
  const int64_t columns = strided.extents[0], rows = strided.extents[1];
  const int64_t across = (columns + kEdge - 1) / kEdge, down = (rows + kEdge - 1) / kEdge;
  const int64_t planes = strided.count / (columns * rows);
  const int fast = static_cast<int>(threadIdx.x) % kEdge;
  const int slow = static_cast<int>(threadIdx.x) / kEdge;
  for (int64_t i = blockIdx.x; i < planes * across * down; i += gridDim.x) {
    const Quotient row = Divided(i, across);
    const Quotient plane = Divided(row.whole, down);
    const FromTo place = PlaceOf(strided, 2, plane.whole);
    const int64_t column = row.rest * kEdge, first = plane.rest * kEdge;
    for (int c = slow; c < kEdge; c += kRowsTogether) {
      if (first + fast >= rows || column + c >= columns) continue;
      square[c][fast] =
          x[place.from + (first + fast) * strided.from[1] + (column + c) * strided.from[0]];
    }
    __syncthreads();
    for (int r = slow; r < kEdge; r += kRowsTogether) {
      if (first + r >= rows || column + fast >= columns) continue;
      out[place.to + (first + r) * strided.to[1] + (column + fast) * strided.to[0]] =
          square[fast][r];
    }
    __syncthreads();
  }
}

template <typename T>
__device__ void Permute(const Permutation& permutation) {
  __shared__ Strided strided;
  if (threadIdx.x == 0) strided = StridedOf(DimsOf(permutation.x), permutation.order);
  __syncthreads();
  if (strided.count == 0) return;
  const T* x = static_cast<const T*>(permutation.x.data);
  T* out = static_cast<T*>(permutation.out);
  constexpr int kPack = kInPack<T>;
  if (strided.from[0] == 1) {
    const bool packs = strided.extents[0] % kPack == 0 && IsAligned(x, kPackBytes) &&
                       IsAligned(out, kPackBytes);
    if (packs) CopyPacks<T, kPack>(strided, x, out);
    else CopyPacks<T, 1>(strided, x, out);
  } else if (strided.rank > 1) {
    CopySquares(strided, x, out);
  } else {
    CopyPacks<T, 1>(strided, x, out);
  }
}

#define PERMUTE_KERNEL(bits)                                                                    \
  KERNEL(Permute_u##bits, (Guard guard, const __grid_constant__ Permutation permutation)) {     \
    if (Enter(guard)) Permute<uint##bits##_t>(permutation);                                     \
  }
PERMUTE_KERNEL(8)
PERMUTE_KERNEL(16)
PERMUTE_KERNEL(32)
PERMUTE_KERNEL(64)

}  // namespace cgraph::cuda
