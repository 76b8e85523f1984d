// gather_rows and its gradient, which adds rows up.
//
// The gradient first finds of every row how often it is named, and where first and last. Then a
// block adds up one row, in the order of the indices as on the CPU: one that is named at most twice
// from these places alone, any other by going through the indices between them.
#include "runtime/device/cpu/kernels/elementwise/elementwise_ops.h"
#include "runtime/device/cuda/kernels/device_numbers.h"
#include "runtime/device/cuda/kernels/indices/arguments.h"
#include "runtime/device/cuda/kernels/move/copy_runs.h"

namespace cgraph::cuda {

template <int width>
__device__ void GatherBy(const View& table, const int64_t* index, int64_t count, int64_t bytes,
                         void* out) {
  using Word = Words<width>;
  const int64_t words = bytes / width;
  for (int64_t i = GridThread(); i < count * words; i += GridThreads()) {
    const Quotient place = Divided(i, words);
    static_cast<Word*>(out)[i] =
        static_cast<const Word*>(table.data)[index[place.whole] * words + place.rest];
  }
}

KERNEL(GatherRows, (Guard guard, View table, View indices, void* out, int64_t width)) {
  if (!Enter(guard)) return;
  const Dims dims = DimsOf(table);
  const int64_t bytes = dims.Product(1, dims.rank) * width, count = ElementsOf(indices);
  const auto* index = static_cast<const int64_t*>(indices.data);
  if (bytes == 0) return;
  switch (WordWidth(reinterpret_cast<uintptr_t>(table.data) | reinterpret_cast<uintptr_t>(out) |
                    static_cast<uint64_t>(bytes))) {
    case 16: return GatherBy<16>(table, index, count, bytes, out);
    case 8: return GatherBy<8>(table, index, count, bytes, out);
    case 4: return GatherBy<4>(table, index, count, bytes, out);
    case 2: return GatherBy<2>(table, index, count, bytes, out);
    default: return GatherBy<1>(table, index, count, bytes, out);
  }
}

KERNEL(ClearRowUses, (Guard guard, const __grid_constant__ RowSums sums)) {
  if (!Enter(guard)) return;
  const int64_t rows = ExtentOf(sums.out.dims[0]);
  for (int64_t i = GridThread(); i < rows; i += GridThreads()) sums.uses[i] = {0, ~0ull, 0};
}

KERNEL(FindRowUses, (Guard guard, const __grid_constant__ RowSums sums)) {
  if (!Enter(guard)) return;
  const auto* index = static_cast<const int64_t*>(sums.indices.data);
  const int64_t count = ElementsOf(sums.indices);
  for (int64_t i = GridThread(); i < count; i += GridThreads()) {
    RowUses& uses = sums.uses[index[i]];
    const auto place = static_cast<unsigned long long>(i);
    atomicAdd(&uses.count, 1ull);
    atomicMin(&uses.first, place);
    atomicMax(&uses.last, place);
  }
}

// Calls `add(position)` for each use of a row, in order. All threads of the block call it.
template <typename Add>
__device__ void ForEachUse(const RowUses& uses, const int64_t* index, int64_t row, Add add) {
  if (uses.count == 0) return;
  add(static_cast<int64_t>(uses.first));
  if (uses.count == 1) return;
  if (uses.count > 2) {
    __shared__ unsigned named[32];  // of each warp's positions, those at which the row is named
    const auto end = static_cast<int64_t>(uses.last);
    const unsigned warps = blockDim.x / 32;
    for (int64_t first = static_cast<int64_t>(uses.first) + 1; first < end; first += blockDim.x) {
      const int64_t own = first + threadIdx.x;
      const unsigned lanes = __ballot_sync(0xffffffff, own < end && index[own] == row);
      if (threadIdx.x % 32 == 0) named[threadIdx.x / 32] = lanes;
      __syncthreads();
      for (unsigned warp = 0; warp < warps; ++warp) {
        for (unsigned rest = named[warp]; rest != 0; rest &= rest - 1) {
          add(first + warp * 32 + static_cast<unsigned>(__ffs(static_cast<int>(rest)) - 1));
        }
      }
      __syncthreads();
    }
  }
  add(static_cast<int64_t>(uses.last));
}

template <typename T>
__device__ void AddUpRows(const RowSums& sums) {
  using C = Compute<T>;
  const Dims dims = DimsOf(sums.out);
  const int64_t rows = dims.of[0], length = dims.Product(1, dims.rank);
  const int64_t chunks = (length + blockDim.x - 1) / blockDim.x;
  const auto* index = static_cast<const int64_t*>(sums.indices.data);
  const auto* gradient = static_cast<const T*>(sums.gradient);
  for (int64_t i = blockIdx.x; i < rows * chunks; i += gridDim.x) {
    const Quotient place = Divided(i, chunks);
    const int64_t column = place.rest * blockDim.x + threadIdx.x;
    C sum = C(0);
    ForEachUse(sums.uses[place.whole], index, place.whole, [&](int64_t position) {
      if (column >= length) return;
      sum = device::Add::Of(sum, static_cast<C>(Widened(gradient[position * length + column])));
    });
    if (column < length) {
      static_cast<T*>(sums.out.data)[place.whole * length + column] = Stored<T>(sum);
    }
  }
}

#define ADD_ROWS_KERNEL(dtype, type, ...)                                               \
  KERNEL(AddUpRows_##dtype, (Guard guard, const __grid_constant__ RowSums sums)) {      \
    if (Enter(guard)) AddUpRows<type>(sums);                                            \
  }
FOR_kNumber(ADD_ROWS_KERNEL)

}  // namespace cgraph::cuda
