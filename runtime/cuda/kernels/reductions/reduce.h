// The loop of reductions. A block reduces some columns at once: each thread every so many elements
// of one column, then the threads of a column what they have, in a tree. The order of all this
// depends on the extents alone, so the result has the same bits every time.
#ifndef CGRAPH_RUNTIME_CUDA_KERNELS_REDUCTIONS_REDUCE_H_
#define CGRAPH_RUNTIME_CUDA_KERNELS_REDUCTIONS_REDUCE_H_

#include "runtime/cuda/kernels/device_numbers.h"
#include "runtime/cuda/kernels/pack.h"
#include "runtime/cuda/kernels/reductions/layout.h"

namespace cgraph::cuda {

inline constexpr int kReducingThreads = 256;

[[gnu::noinline]] __device__ inline int64_t OffsetAt(const Positions& positions, int64_t at) {
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

  static __device__ void Run(const Reduction& reduction) {
    __shared__ Layout layout;
    __shared__ State states[kReducingThreads];
    ShareLayout(reduction, layout);
    const int64_t columns = layout.columns.count;
    const int64_t length = (layout.along.count + reduction.parts - 1) / reduction.parts;
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
      // A column's states stand side by side, those of its first elements first.
      State* own = states + slot * reduction.height;
      own[row] = state;
      __syncthreads();
      for (int step = reduction.height / 2; step > 0; step /= 2) {
        if (row < step) own[row] = Operation::Joined(own[row], own[row + step]);
        __syncthreads();
      }
      if (row == 0 && column < columns) Store(reduction, layout, part.whole, column, own[0]);
      __syncthreads();
    }
  }

 private:
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

  static __device__ State OfColumn(const Reduction& reduction, const Layout& layout,
                                   int64_t column, int64_t first, int64_t length, int row) {
    const Positions& along = layout.along;
    const T* x = static_cast<const T*>(reduction.x.data) + OffsetAt(layout.columns, column);
    const int64_t end = first + length < along.count ? first + length : along.count;
    State state = Operation::Start();
    if (along.rank <= 1) {
      const int64_t stride = along.rank == 1 ? along.strides[0] : 0;
#pragma unroll 4
      for (int64_t i = first + row; i < end; i += reduction.height) {
        state = Operation::Joined(state, Operation::Of(Widened(x[i * stride]), i));
      }
    } else {
      for (int64_t i = first + row; i < end; i += reduction.height) {
        state = Operation::Joined(state, Operation::Of(Widened(x[OffsetAt(along, i)]), i));
      }
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

#endif  // CGRAPH_RUNTIME_CUDA_KERNELS_REDUCTIONS_REDUCE_H_
