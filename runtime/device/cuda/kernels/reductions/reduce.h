// The loop of reductions. A block reduces some columns at once: each thread every so many packs of
// elements of one column, then the threads of a column what they have, in a tree. The order of all
// this depends on the extents alone, so the result has the same bits every time, wherever the
// elements lie.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_REDUCTIONS_REDUCE_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_REDUCTIONS_REDUCE_H_

#include "runtime/device/cuda/kernels/abi.h"
#include "runtime/device/cuda/kernels/device_numbers.h"
#include "runtime/device/cuda/kernels/pack.h"
#include "runtime/device/cuda/kernels/reductions/arguments.h"
#include "runtime/device/cuda/kernels/warp.h"

namespace cgraph::cuda {

[[gnu::noinline]] __device__ inline int64_t OffsetAt(const Positions& positions, int64_t at) {
  if (positions.rank == 1) return at * positions.strides[0];
  int64_t offset = 0;
  CGRAPH_KEEP_LOOP for (int d = 0; d < positions.rank; ++d) {
    const Quotient index = Divided(at, positions.extents[d]);
    offset += index.rest * positions.strides[d];
    at = index.whole;
  }
  return offset;
}

// `Operation` has a State; Start(), which changes nothing that it is joined with; Of(x, i), of
// element i of a column; Joined(a, b), where `a` stands before `b`; and End(state, count), what is
// stored.
template <typename T, typename Operation>
class Reducer {
 public:
  using State = typename Operation::State;
  static constexpr int kPack = kInPack<T>;

  static __device__ void Run(const Reduction& reduction) {
    __shared__ Layout layout;
    __shared__ State states[kThreads];
    ShareLayout(reduction, layout);
    const int64_t columns = layout.columns.count;
    const int64_t length = LengthOfPart(layout.along.count, reduction.parts);
    const int64_t groups = (columns + reduction.width - 1) / reduction.width;
    const int64_t tiles = groups * (reduction.second ? 1 : reduction.parts);
    for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      const Quotient part = Divided(tile, groups);
      const int thread = static_cast<int>(threadIdx.x);
      const int slot = reduction.contiguous ? thread / reduction.height : thread % reduction.width;
      const int row = reduction.contiguous ? thread % reduction.height : thread / reduction.width;
      const int64_t column = part.rest * reduction.width + slot;
      State state = Operation::Start();
      if (column < columns) {
        state = reduction.second
                    ? OfPartials(reduction, columns, column, row)
                    : OfColumn(reduction, layout, column, part.whole * length, length, row);
      }
      state = JoinedInBlock(reduction, states + slot * reduction.height, row, state);
      if (row == 0 && column < columns) Store(reduction, layout, part.whole, column, state);
    }
  }

 private:
  // Parts are whole packs, and so begin where packs do.
  static __device__ int64_t LengthOfPart(int64_t along, int64_t parts) {
    const int64_t packs = (along + kPack - 1) / kPack;
    return (packs + parts - 1) / parts * kPack;
  }

  // Joins the states of a column's threads: the first of them has the whole. `column` has room for
  // a state of each.
  static __device__ State JoinedInBlock(const Reduction& reduction, State* column, int row,
                                        State state) {
    const int height = reduction.height;
    if (height == 1) return state;
    int step = height / 2;
    if (reduction.contiguous) {
      // The threads of a warp are neighbours; then one of each warp goes on.
      state = JoinedInWarp(state, height < kWarpThreads ? height : kWarpThreads,
                           [](const State& a, const State& b) { return Operation::Joined(a, b); });
      if (height <= kWarpThreads) return state;
      step /= kWarpThreads;
      row = row % kWarpThreads == 0 ? row / kWarpThreads : height;
    }
    if (row < 2 * step) column[row] = state;
    __syncthreads();
    for (; step > 0; step /= 2) {
      if (row < step) column[row] = Operation::Joined(column[row], column[row + step]);
      __syncthreads();
    }
    if (row == 0) state = column[0];
    __syncthreads();
    return state;
  }

  static __device__ void ShareLayout(const Reduction& reduction, Layout& layout) {
    if (reduction.known) {
      const auto* from = reinterpret_cast<const Words<8>*>(&reduction.layout);
      for (unsigned i = threadIdx.x; i < sizeof(layout) / 8; i += blockDim.x) {
        reinterpret_cast<Words<8>*>(&layout)[i] = from[i];
      }
    } else if (threadIdx.x == 0) {
      const Dims x = DimsOf(reduction.x), out = DimsOf(reduction.out);
      FillLayout(x, out, reduction.dim, layout);
    }
    __syncthreads();
  }

  static __device__ State OfColumn(const Reduction& reduction, const Layout& layout, int64_t column,
                                   int64_t first, int64_t length, int row) {
    const Positions& along = layout.along;
    const T* x = static_cast<const T*>(reduction.x.data) + OffsetAt(layout.columns, column);
    const int64_t end = first + length < along.count ? first + length : along.count;
    State state = Operation::Start();
    const int64_t step = int64_t{reduction.height} * kPack;
    int64_t i = first + int64_t{row} * kPack;
    if (along.rank == 1 && along.strides[0] == 1 && IsAligned(x, kPackBytes)) {
      // Some packs at once, so that one is on its way from memory while others are joined.
      constexpr int kAtOnce = 4;
      for (; i + (kAtOnce - 1) * step + kPack <= end; i += kAtOnce * step) {
        Pack<T, kPack> packs[kAtOnce];
#pragma unroll
        for (int p = 0; p < kAtOnce; ++p) packs[p] = LoadPack<T, kPack>(x + i + p * step);
#pragma unroll
        for (int p = 0; p < kAtOnce; ++p) state = WithPack(state, packs[p], i + p * step);
      }
      for (; i + kPack <= end; i += step) state = WithPack(state, LoadPack<T, kPack>(x + i), i);
    }
    const int64_t stride = along.rank == 1 ? along.strides[0] : 0;
    for (; i < end; i += step) {
#pragma unroll
      for (int64_t e = i; e < i + kPack; ++e) {
        if (e >= end) continue;
        const int64_t at = along.rank <= 1 ? e * stride : OffsetAt(along, e);
        state = Operation::Joined(state, Operation::Of(Widened(x[at]), e));
      }
    }
    return state;
  }
  static __device__ State WithPack(State state, const Pack<T, kPack>& pack, int64_t first) {
#pragma unroll
    for (int e = 0; e < kPack; ++e) {
      state = Operation::Joined(state, Operation::Of(Widened(pack.of[e]), first + e));
    }
    return state;
  }
  static __device__ State OfPartials(const Reduction& reduction, int64_t columns, int64_t column,
                                     int row) {
    const auto* partials = static_cast<const State*>(reduction.partials);
    State state = Operation::Start();
    for (int64_t i = row; i < reduction.parts; i += reduction.height) {
      state = Operation::Joined(state, partials[i * columns + column]);
    }
    return state;
  }
  static __device__ void Store(const Reduction& reduction, const Layout& layout, int64_t part,
                               int64_t column, const State& state) {
    if (reduction.parts > 1 && !reduction.second) {
      static_cast<State*>(reduction.partials)[part * layout.columns.count + column] = state;
      return;
    }
    using Out = typename Operation::Out;
    static_cast<Out*>(reduction.out.data)[column] = Operation::End(state, layout.along.count);
  }
};

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_REDUCTIONS_REDUCE_H_
