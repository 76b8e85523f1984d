// The loop of elementwise kernels: an operation on each element of the result, with broadcast
// operands.
//
// Rows are gone through in packs of up to 16 bytes where all packs are aligned, else element by
// element. A result may be the memory of an operand of its type: a thread reads the elements of a
// pack before it writes them, and no other thread reads them.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ELEMENTWISE_ELEMENTS_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ELEMENTWISE_ELEMENTS_H_

#include <utility>

#include "runtime/device/cpu/kernels/elementwise/elementwise_ops.h"
#include "runtime/device/cuda/kernels/device_numbers.h"
#include "runtime/device/cuda/kernels/elementwise/arguments.h"
#include "runtime/device/cuda/kernels/pack.h"

namespace cgraph::cuda {

// An operation on elements as they are stored. What is f16 or bf16 is computed in f32.
template <typename Operation, typename Out, typename... In>
__device__ inline Out Computed(In... x) {
  if constexpr (sizeof...(In) == 1 && (kIsHalf<In> && ...)) {
    return Stored<Out>(device::OnHalf<Operation>::Of(Widened(x)...));
  } else {
    return Stored<Out>(Operation::Of(Widened(x)...));
  }
}

// The two functions that are the same for all operations are compiled once a file, not into each
// kernel: what there is of kernels is compiled for several processors.
template <int operands>
[[gnu::noinline]] __device__ void MakeWalk(const View (&in)[operands], const View& out,
                                           Walk<operands>& walk) {
  Dims dims[operands];
  CGRAPH_KEEP_LOOP for (int o = 0; o < operands; ++o) dims[o] = DimsOf(in[o]);
  const Dims whole = DimsOf(out);
  FillWalk(dims, whole, walk);
}

// Returns where the operands' elements lie that go into element `at` of the result.
template <int operands>
struct Offsets {
  int64_t of[operands];
};
template <int operands>
[[gnu::noinline]] __device__ Offsets<operands> OffsetsAt(const Walk<operands>& walk, int64_t at) {
  Offsets<operands> offsets = {};
  CGRAPH_KEEP_LOOP for (int d = 0; d < walk.rank; ++d) {
    const Quotient index = Divided(at, walk.extents[d]);
    CGRAPH_UNROLL for (int o = 0; o < operands; ++o) {
      offsets.of[o] += index.rest * walk.strides[o][d];
    }
    at = index.whole;
  }
  return offsets;
}

// Fills `walk`, which is in shared memory; all threads of the block call it.
template <int operands>
__device__ inline void ShareWalk(const Elementwise<operands>& arguments, Walk<operands>& walk) {
  if (arguments.known) {
    const auto* from = reinterpret_cast<const Words<4>*>(&arguments.walk);
    for (unsigned i = threadIdx.x; i < sizeof(walk) / 4; i += blockDim.x) {
      reinterpret_cast<Words<4>*>(&walk)[i] = from[i];
    }
  } else if (threadIdx.x == 0) {
    MakeWalk(arguments.in, arguments.out, walk);
  }
  __syncthreads();
}

// ELEMENTWISE_KERNEL(name, operands, operation, types): the kernel of an operation; `types` are
// those of the result and of the operands.
#define ELEMENTWISE_KERNEL(name, operands, operation, ...)                                    \
  KERNEL(name, (Guard guard, const __grid_constant__ Elementwise<operands> arguments)) {      \
    if (Enter(guard)) ElementLoop<operation, __VA_ARGS__>::Run(arguments);                    \
  }

template <typename Operation, typename Out, typename... In>
class ElementLoop {
 public:
  static constexpr int kOperands = sizeof...(In);
  using Arguments = Elementwise<kOperands>;

  static __device__ void Run(const Arguments& arguments) {
    __shared__ Walk<kOperands> walk;
    ShareWalk(arguments, walk);
    RunOver(arguments, walk, std::make_index_sequence<kOperands>());
  }

 private:
  static constexpr int Greatest(int a, int b) { return a > b ? a : b; }
  static constexpr int kWidest = [] {
    int widest = sizeof(Out);
    ((widest = Greatest(widest, sizeof(In))), ...);
    return widest;
  }();
  static constexpr int kPack = kPackBytes / kWidest;

  template <size_t... I>
  static __device__ void RunOver(const Arguments& arguments, const Walk<kOperands>& walk,
                                 std::index_sequence<I...>) {
    const bool packs =
        (walk.rank == 1 || walk.extents[0] % kPack == 0) &&
        IsAligned(arguments.out.data, sizeof(Out) * kPack) &&
        ((walk.strides[I][0] == 0 || IsAligned(arguments.in[I].data, sizeof(In) * kPack)) && ...);
    const int64_t whole = packs ? walk.count / kPack : 0;
    for (int64_t i = GridThread(); i < whole; i += GridThreads()) {
      RunPack<kPack, I...>(arguments, walk, i * kPack);
    }
    for (int64_t i = whole * kPack + GridThread(); i < walk.count; i += GridThreads()) {
      RunPack<1, I...>(arguments, walk, i);
    }
  }

  template <int count, size_t... I>
  static __device__ void RunPack(const Arguments& arguments, const Walk<kOperands>& walk,
                                 int64_t at) {
    const Offsets<kOperands> from = walk.rank > 1
                                        ? OffsetsAt(walk, at)
                                        : Offsets<kOperands>{{(at * walk.strides[I][0])...}};
    const Pack<Out, count> results = Apply<count>(
        Operand<In, count>(arguments.in[I].data, from.of[I], walk.strides[I][0] != 0)...);
    StorePack(static_cast<Out*>(arguments.out.data) + at, results);
  }

  template <typename T, int count>
  static __device__ Pack<T, count> Operand(const void* data, int64_t at, bool moves) {
    const T* from = static_cast<const T*>(data) + at;
    if (moves) return LoadPack<T, count>(from);
    const T element = *from;
    Pack<T, count> pack;
    CGRAPH_UNROLL for (int i = 0; i < count; ++i) pack.of[i] = element;
    return pack;
  }

  template <int count>
  static __device__ Pack<Out, count> Apply(const Pack<In, count>&... in) {
    Pack<Out, count> results;
    CGRAPH_UNROLL for (int i = 0; i < count; ++i) {
      results.of[i] = Computed<Operation, Out, In...>(in.of[i]...);
    }
    return results;
  }
};

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ELEMENTWISE_ELEMENTS_H_
