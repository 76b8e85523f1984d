// Rows in order: tiles by a bitonic network in shared memory (Batcher, "Sorting networks and their
// applications", 1968), and merges, in which each entry finds its place: its own in its run plus
// how many of the other run stand before it. No two entries are equal, so the order is stable and
// the same every time.
#include "runtime/device/cpu/kernels/order/entry.h"
#include "runtime/device/cuda/kernels/device_numbers.h"
#include "runtime/device/cuda/kernels/order/arguments.h"

namespace cgraph::cuda {

using device::LongEntry;
using device::ShortEntry;

// Puts segments of `run` of the entries in order; all threads of the block call it.
template <typename Entry>
__device__ void OrderSegments(Entry (&entries)[kOrderTile], int run) {
  for (int size = 2; size <= run; size *= 2) {
    for (int step = size / 2; step > 0; step /= 2) {
      for (int i = static_cast<int>(threadIdx.x); i < kOrderTile / 2;
           i += static_cast<int>(blockDim.x)) {
        const int low = 2 * i - (i & (step - 1)), high = low + step;
        const bool ascending = (low & (run - 1) & size) == 0;
        const Entry a = entries[low], b = entries[high];
        if ((b < a) == ascending) {
          entries[low] = b;
          entries[high] = a;
        }
      }
      __syncthreads();
    }
  }
}

// Makes runs of entries: `make(row, i)` gives that of element i of a row.
template <typename Entry, typename Make>
__device__ void OrderTiles(const Ordering& ordering, Make make) {
  __shared__ Entry entries[kOrderTile];
  const RowShape shape = RowsOf(DimsOf(ordering.x), ordering.dim);
  const int run = static_cast<int>(ordering.run), each = kOrderTile / run;
  const int64_t of_row = (shape.along + run - 1) / run, runs = shape.rows * of_row;
  for (int64_t group = blockIdx.x; group * each < runs; group += gridDim.x) {
    for (int i = static_cast<int>(threadIdx.x); i < kOrderTile; i += static_cast<int>(blockDim.x)) {
      const int64_t number = group * each + i / run;
      Entry entry = Entry::Last();
      if (number < runs) {
        const Quotient place = Divided(number, of_row);
        const int64_t at = place.rest * run + i % run;
        if (at < shape.along) entry = make(shape, place.whole, at);
      }
      entries[i] = entry;
    }
    __syncthreads();
    OrderSegments(entries, run);
    for (int i = static_cast<int>(threadIdx.x); i < kOrderTile; i += static_cast<int>(blockDim.x)) {
      const int64_t number = group * each + i / run;
      if (number >= runs || i % run >= ordering.kept) continue;
      const Quotient place = Divided(number, of_row);
      const int64_t at = place.rest * run + i % run;
      if (at >= shape.along) continue;
      static_cast<Entry*>(ordering.to)[place.whole * ordering.stride + at] = entries[i];
    }
    __syncthreads();
  }
}

template <typename T>
__device__ void OrderElements(const Ordering& ordering) {
  OrderTiles<device::EntryOf<T>>(ordering, [&](const RowShape& shape, int64_t row, int64_t at) {
    const Quotient place = Divided(row, shape.inner);
    const T x = static_cast<const T*>(
        ordering.x.data)[(place.whole * shape.along + at) * shape.inner + place.rest];
    return device::EntryFor(x, at, ordering.descending != 0);
  });
}
#define ORDER_KERNEL(dtype, type, ...)                                                   \
  KERNEL(OrderTiles_##dtype, (Guard guard, const __grid_constant__ Ordering ordering)) { \
    if (Enter(guard)) OrderElements<type>(ordering);                                     \
  }
FOR_kNumber(ORDER_KERNEL)

    // Of indices, which are not negative and have four bytes.
    KERNEL(OrderIndexTiles, (Guard guard, const __grid_constant__ Ordering ordering)) {
  if (!Enter(guard)) return;
  OrderTiles<ShortEntry>(ordering, [&](const RowShape& shape, int64_t row, int64_t at) {
    const Quotient place = Divided(row, shape.inner);
    const int64_t index = static_cast<const int64_t*>(
        ordering.x.data)[(place.whole * shape.along + at) * shape.inner + place.rest];
    return ShortEntry::Of(static_cast<uint32_t>(index), static_cast<uint32_t>(at));
  });
}

// Returns how many of `count` entries, which are in order, stand before one.
template <typename Entry>
__device__ int64_t CountBefore(const Entry* entries, int64_t count, const Entry& own) {
  int64_t first = 0;
  while (count > 0) {
    const int64_t half = count / 2;
    if (entries[first + half] < own) {
      first += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return first;
}

template <typename Entry>
__device__ void MergeRuns(const Ordering& ordering) {
  const RowShape shape = RowsOf(DimsOf(ordering.x), ordering.dim);
  const int64_t run = ordering.run, each = run < ordering.kept ? run : ordering.kept;
  const int64_t of_row = (shape.along + run - 1) / run, items = shape.rows * of_row * each;
  const auto count_of = [&](int64_t number) {
    const int64_t rest = shape.along - number * run;
    return rest < 0 ? 0 : rest < each ? rest : each;
  };
  for (int64_t i = GridThread(); i < items; i += GridThreads()) {
    const Quotient entry = Divided(i, each), place = Divided(entry.whole, of_row);
    if (entry.rest >= count_of(place.rest)) continue;
    const Entry* row = static_cast<const Entry*>(ordering.from) + place.whole * ordering.stride;
    const Entry own = row[place.rest * run + entry.rest];
    const int64_t other = place.rest ^ 1;
    const int64_t at = entry.rest + CountBefore(row + other * run, count_of(other), own);
    if (at >= ordering.kept) continue;
    static_cast<Entry*>(
        ordering.to)[place.whole * ordering.stride + (place.rest & ~int64_t{1}) * run + at] = own;
  }
}

KERNEL(MergeShortRuns, (Guard guard, const __grid_constant__ Ordering ordering)) {
  if (Enter(guard)) MergeRuns<ShortEntry>(ordering);
}
KERNEL(MergeLongRuns, (Guard guard, const __grid_constant__ Ordering ordering)) {
  if (Enter(guard)) MergeRuns<LongEntry>(ordering);
}

// Writes the elements whose entries are in order, and where they were.
template <typename Word, typename Entry>
__device__ void WriteOrdered(const Ordering& ordering, Word* values, int64_t* indices) {
  const RowShape shape = RowsOf(DimsOf(ordering.x), ordering.dim);
  const int64_t kept = ordering.kept < shape.along ? ordering.kept : shape.along;
  const int64_t items = shape.rows * kept;
  const auto* entries = static_cast<const Entry*>(ordering.from);
  for (int64_t i = GridThread(); i < items; i += GridThreads()) {
    const Quotient column = Divided(i, shape.inner), place = Divided(column.whole, kept);
    const int64_t row = place.whole * shape.inner + column.rest;
    const int64_t at = entries[row * ordering.stride + place.rest].position();
    values[i] = static_cast<const Word*>(
        ordering.x.data)[(place.whole * shape.along + at) * shape.inner + column.rest];
    indices[i] = at;
  }
}
#define WRITE_KERNEL(bits, entry)                                                       \
  KERNEL(WriteOrdered_u##bits, (Guard guard, const __grid_constant__ Ordering ordering, \
                                uint##bits##_t* values, int64_t* indices)) {            \
    if (Enter(guard)) WriteOrdered<uint##bits##_t, entry>(ordering, values, indices);   \
  }
WRITE_KERNEL(8, ShortEntry)
WRITE_KERNEL(16, ShortEntry)
WRITE_KERNEL(32, ShortEntry)
WRITE_KERNEL(64, LongEntry)

}  // namespace cgraph::cuda
