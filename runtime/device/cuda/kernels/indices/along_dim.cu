// one_hot; and elements by their index along a dimension. What is added to one element is added by
// one thread, in the order of the index: the indices of a row are put in order before.
#include "runtime/device/cpu/kernels/elementwise/elementwise_ops.h"
#include "runtime/device/cpu/kernels/order/entry.h"
#include "runtime/device/cuda/kernels/device_numbers.h"
#include "runtime/device/cuda/kernels/indices/arguments.h"

namespace cgraph::cuda {

template <typename T>
__device__ void WriteOneHot(const int64_t* index, const View& out) {
  const int64_t classes = ExtentOf(out.dims[out.rank - 1]), count = ElementsOf(out);
  for (int64_t i = GridThread(); i < count; i += GridThreads()) {
    const Quotient place = Divided(i, classes);
    static_cast<T*>(out.data)[i] =
        static_cast<T>(Compute<T>(index[place.whole] == place.rest ? 1 : 0));
  }
}
#define ONE_HOT_KERNEL(dtype, type, ...)                                  \
  KERNEL(OneHot_##dtype, (Guard guard, const int64_t* index, View out)) { \
    if (Enter(guard)) WriteOneHot<type>(index, out);                      \
  }
FOR_kAny(ONE_HOT_KERNEL)

    template <typename Word>
    __device__ void TakeAlong(const Taking& taking) {
  const int dim = static_cast<int>(taking.dim);
  const RowShape shape = RowsOf(DimsOf(taking.index), dim);
  const int64_t count = shape.rows * shape.along, extent = ExtentOf(taking.x.dims[dim]);
  const auto* index = static_cast<const int64_t*>(taking.index.data);
  for (int64_t i = GridThread(); i < count; i += GridThreads()) {
    const Quotient column = Divided(i, shape.inner), place = Divided(column.whole, shape.along);
    static_cast<Word*>(taking.out)[i] = static_cast<const Word*>(
        taking.x.data)[(place.whole * extent + index[i]) * shape.inner + column.rest];
  }
}
#define TAKE_KERNEL(bits)                                                           \
  KERNEL(TakeAlong_u##bits, (Guard guard, const __grid_constant__ Taking taking)) { \
    if (Enter(guard)) TakeAlong<uint##bits##_t>(taking);                            \
  }
TAKE_KERNEL(8)
TAKE_KERNEL(16)
TAKE_KERNEL(32)
TAKE_KERNEL(64)

// Returns the first of the entries whose index is no less than `index`.
__device__ inline int64_t FirstOf(const device::ShortEntry* entries, int64_t count, int64_t index) {
  int64_t first = 0;
  while (count > 0) {
    const int64_t half = count / 2;
    if (entries[first + half].key() < index) {
      first += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return first;
}

template <typename T>
__device__ void AddAlong(const Adding& adding) {
  const RowShape from = RowsOf(DimsOf(adding.order.x), adding.order.dim);
  const RowShape to = RowsOf(DimsOf(adding.x), adding.order.dim);
  const int64_t count = to.rows * to.along;
  const auto* source = static_cast<const T*>(adding.source);
  for (int64_t i = GridThread(); i < count; i += GridThreads()) {
    const Quotient column = Divided(i, to.inner), place = Divided(column.whole, to.along);
    const int64_t row = place.whole * to.inner + column.rest;
    const auto* entries =
        static_cast<const device::ShortEntry*>(adding.order.from) + row * adding.order.stride;
    Compute<T> sum = Widened(static_cast<const T*>(adding.x.data)[i]);
    for (int64_t j = FirstOf(entries, from.along, place.rest);
         j < from.along && entries[j].key() == place.rest; ++j) {
      const int64_t at = place.whole * from.along + entries[j].position();
      sum = device::Add::Of(sum, Compute<T>(Widened(source[at * from.inner + column.rest])));
    }
    static_cast<T*>(adding.out)[i] = Stored<T>(sum);
  }
}
#define ADD_ALONG_KERNEL(dtype, type, ...)                                         \
  KERNEL(AddAlong_##dtype, (Guard guard, const __grid_constant__ Adding adding)) { \
    if (Enter(guard)) AddAlong<type>(adding);                                      \
  }
FOR_kNumber(ADD_ALONG_KERNEL)

}  // namespace cgraph::cuda
