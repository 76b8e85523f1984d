// CopyRuns: copies runs of bytes that lie at equal distances, which several kernels do.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_MOVE_COPY_RUNS_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_MOVE_COPY_RUNS_H_

#include "runtime/device/cuda/kernels/device_numbers.h"
#include "runtime/device/cuda/kernels/pack.h"

namespace cgraph::cuda {

// `count` runs of `bytes` bytes; the distances from one to the next are in bytes, too.
struct Runs {
  const char* from;
  int64_t from_stride;
  char* to;
  int64_t to_stride;
  int64_t count, bytes;
};

template <int width>
__device__ void CopyRunsBy(const Runs& runs) {
  using Word = Words<width>;
  const int64_t words = runs.bytes / width;
  for (int64_t i = GridThread(); i < runs.count * words; i += GridThreads()) {
    const Quotient place = Divided(i, words);
    const auto* from =
        reinterpret_cast<const Word*>(runs.from + place.whole * runs.from_stride) + place.rest;
    reinterpret_cast<Word*>(runs.to + place.whole * runs.to_stride)[place.rest] = *from;
  }
}

// Returns the greatest width of words, up to 16, at which runs begin and end that are made of these
// numbers, or-ed together.
__device__ inline int WordWidth(uint64_t bits) {
  int width = 16;
  while ((bits & static_cast<uint64_t>(width - 1)) != 0) width /= 2;
  return width;
}

// Copies in words as wide as possible; all threads of the grid call it.
__device__ inline void CopyRuns(const Runs& runs) {
  const int width = WordWidth(reinterpret_cast<uintptr_t>(runs.from) |
                              reinterpret_cast<uintptr_t>(runs.to) |
                              static_cast<uint64_t>(runs.from_stride) |
                              static_cast<uint64_t>(runs.to_stride) |
                              static_cast<uint64_t>(runs.bytes));
  switch (width) {
    case 16: return CopyRunsBy<16>(runs);
    case 8: return CopyRunsBy<8>(runs);
    case 4: return CopyRunsBy<4>(runs);
    case 2: return CopyRunsBy<2>(runs);
    default: return CopyRunsBy<1>(runs);
  }
}

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_MOVE_COPY_RUNS_H_
