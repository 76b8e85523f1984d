// The loop of kernels that work on rows, each row by itself: a block does some rows at once, with
// the same number of threads each.
//
// Every thread has some packs of its row, which it alone reads and writes, so that a result may lie
// where an operand does. A thread keeps its elements in shared memory where they have room, so that
// they are read once; else they are read again. Sums are made in f64, by each thread in the order
// of its elements and then in a tree: the order depends on the extents alone, not on where the
// elements lie.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ROWS_ROW_LOOP_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ROWS_ROW_LOOP_H_

#include <cmath>
#include <limits>

#include "runtime/device/cpu/kernels/elementwise/elementwise_ops.h"
#include "runtime/device/cuda/kernels/device_numbers.h"
#include "runtime/device/cuda/kernels/pack.h"
#include "runtime/device/cuda/kernels/rows/arguments.h"
#include "runtime/device/cuda/kernels/warp.h"

namespace cgraph::cuda {

// Row: one row as its threads see it. All threads of the block call Sum, Max and their like
// together; those beyond the last row have no elements.
template <typename T, int operands>
class Row {
 public:
  using C = Compute<T>;
  // An element of each operand, `index` elements from the beginning of its row.
  struct Element {
    int64_t index;
    C x[operands];
  };

 private:
  static constexpr int kPack = kInPack<T>;
  static constexpr int kKept = KeptElements(operands, sizeof(C));  // of a thread and an operand
  static constexpr int kWord = kInPack<C>;  // elements in one access to shared memory
  static_assert(kKept % kPack == 0 && kPack % kWord == 0);
  // Elements of a pack, for each operand.
  struct Numbers {
    C x[operands][kPack];
  };

 public:
  struct Shared {
    RowShape shape;
    alignas(kPackBytes) C kept[operands][kKept / kWord][kThreads][kWord];
    double partial[kThreads];
  };

  __device__ Row(const Rows& rows, Shared& shared, int64_t group) : rows_(rows), shared_(shared) {
    const int thread = static_cast<int>(threadIdx.x);
    const int slot = rows.contiguous ? thread / rows.height : thread % rows.width;
    rank_ = rows.contiguous ? thread % rows.height : thread / rows.width;
    row_ = group * rows.width + slot;
    const RowShape& shape = shared.shape;
    end_ = row_ < shape.rows ? shape.along : 0;
    if (shape.inner == 1) {
      base_ = row_ * shape.along;
    } else {
      const Quotient place = Divided(row_, shape.inner);
      base_ = place.whole * shape.along * shape.inner + place.rest;
    }
    first_ = int64_t{rank_} * kPack;
    step_ = int64_t{rows.height} * kPack;
    packed_ = shape.inner == 1 && shape.along % kPack == 0 && IsAligned(rows.out.data, kPackBytes);
    for (int o = 0; o < operands; ++o) packed_ &= IsAligned(rows.in[o].data, kPackBytes);
    keeps_ = shape.along <= rows.height * int64_t{kKept};
    if (keeps_) Keep();
  }

  __device__ int64_t row() const { return row_; }
  __device__ bool exists() const { return row_ < shared_.shape.rows; }
  __device__ int64_t count() const { return shared_.shape.along; }
  __device__ bool leads() const { return rank_ == 0 && exists(); }  // one thread of each row
  __device__ double epsilon() const { return rows_.epsilon; }

  // Returns any element of the row, as it was before anything is stored.
  __device__ C Read(int operand, int64_t i) const {
    return Widened(static_cast<const T*>(rows_.in[operand].data)[base_ + i * shared_.shape.inner]);
  }
  // Returns element i of a vector that all rows share.
  __device__ C Vector(int operand, int64_t i) const {
    return Widened(static_cast<const T*>(rows_.in[operand].data)[i]);
  }

  // Returns the sum of `term(element)` over the row.
  template <typename Term>
  __device__ double Sum(Term term) const {
    double sum = 0;
    ForEach([&](const Element& element) { sum += static_cast<double>(term(element)); });
    return Joined(sum, [](double a, double b) { return a + b; });
  }
  // As Sum; where elements are kept, the terms take the places of the first operand's.
  template <typename Term>
  __device__ double SumAndKeep(Term term) const {
    double sum = 0;
    ForEachPack([&](int64_t first, int count, Numbers& numbers, int at) {
#pragma unroll
      for (int e = 0; e < kPack; ++e) {
        if (e >= count) continue;
        const C value = term(ElementOf(first, numbers, e));
        sum += static_cast<double>(value);
        numbers.x[0][e] = value;
      }
      if (keeps_) KeepPack(0, at, numbers.x[0]);
    });
    return Joined(sum, [](double a, double b) { return a + b; });
  }
  // Returns `term(element)` after SumAndKeep(term).
  template <typename Term>
  __device__ C Kept(const Element& element, Term term) const {
    return keeps_ ? element.x[0] : term(element);
  }
  // Returns the greatest element of the first operand; NaN does not count. -inf of none.
  __device__ C Max() const {
    const auto greater = [](C a, C b) { return std::fmax(a, b); };
    C most = -std::numeric_limits<C>::infinity();
    ForEach([&](const Element& element) { most = greater(most, element.x[0]); });
    return Joined(most, greater);
  }
  // Makes `value(element)` the row's result.
  template <typename Value>
  __device__ void Store(Value value) const {
    ForEachPack([&](int64_t first, int count, const Numbers& numbers, int) {
      Pack<T, kPack> pack = {};
#pragma unroll
      for (int e = 0; e < kPack; ++e) {
        if (e < count) pack.of[e] = Stored<T>(value(ElementOf(first, numbers, e)));
      }
      T* out = static_cast<T*>(rows_.out.data) + base_ + first * shared_.shape.inner;
      if (packed_) return StorePack(out, pack);
#pragma unroll
      for (int e = 0; e < kPack; ++e) {
        if (e < count) out[e * shared_.shape.inner] = pack.of[e];
      }
    });
  }

 private:
  // Brings the thread's elements into shared memory, where this thread alone reads them: some packs
  // at once where these are whole, so that one is on its way from memory while another is kept.
  __device__ void Keep() const {
    int at = 0;
    int64_t i = first_;
    if (packed_) {
      constexpr int kAtOnce = kKept < 4 * kPack ? kKept / kPack : 4;
      for (; i + (kAtOnce - 1) * step_ < end_; i += kAtOnce * step_, at += kAtOnce * kPack) {
        KeepPacks<kAtOnce>(i, at);
      }
    }
    for (; i < end_; i += step_, at += kPack) KeepPacks<1>(i, at);
  }
  template <int packs>
  __device__ void KeepPacks(int64_t first, int at) const {
    Pack<T, kPack> loaded[operands][packs];
#pragma unroll
    for (int o = 0; o < operands; ++o) {
#pragma unroll
      for (int p = 0; p < packs; ++p) loaded[o][p] = LoadOf(o, first + p * step_);
    }
#pragma unroll
    for (int o = 0; o < operands; ++o) {
#pragma unroll
      for (int p = 0; p < packs; ++p) {
        C x[kPack];
#pragma unroll
        for (int e = 0; e < kPack; ++e) x[e] = Widened(loaded[o][p].of[e]);
        KeepPack(o, at + p * kPack, x);
      }
    }
  }
  __device__ void KeepPack(int operand, int at, const C (&x)[kPack]) const {
#pragma unroll
    for (int e = 0; e < kPack; e += kWord) {
      Pack<C, kWord> word;
#pragma unroll
      for (int w = 0; w < kWord; ++w) word.of[w] = x[e + w];
      StorePack(shared_.kept[operand][(at + e) / kWord][threadIdx.x], word);
    }
  }
  __device__ void ReadKept(int operand, int at, C (&x)[kPack]) const {
#pragma unroll
    for (int e = 0; e < kPack; e += kWord) {
      const C* kept = shared_.kept[operand][(at + e) / kWord][threadIdx.x];
      const Pack<C, kWord> word = LoadPack<C, kWord>(kept);
#pragma unroll
      for (int w = 0; w < kWord; ++w) x[e + w] = word.of[w];
    }
  }

  // Returns a pack of an operand that begins in the row; elements beyond the row are zeros.
  __device__ Pack<T, kPack> LoadOf(int operand, int64_t first) const {
    Pack<T, kPack> pack = {};
    const T* x =
        static_cast<const T*>(rows_.in[operand].data) + base_ + first * shared_.shape.inner;
    if (packed_) return LoadPack<T, kPack>(x);
#pragma unroll
    for (int e = 0; e < kPack; ++e) {
      if (first + e < end_) pack.of[e] = x[e * shared_.shape.inner];
    }
    return pack;
  }

  static __device__ Element ElementOf(int64_t first, const Numbers& numbers, int e) {
    Element element;
    element.index = first + e;
#pragma unroll
    for (int o = 0; o < operands; ++o) element.x[o] = numbers.x[o][e];
    return element;
  }

  // Calls `use(first, count, numbers, at)` for each of the thread's packs: `count` of its elements
  // are the row's, and it is kept at `at`, where elements are kept.
  template <typename Use>
  __device__ void ForEachPack(Use use) const {
    int at = 0;
    for (int64_t i = first_; i < end_; i += step_, at += kPack) {
      Numbers numbers;
#pragma unroll
      for (int o = 0; o < operands; ++o) {
        if (keeps_) {
          ReadKept(o, at, numbers.x[o]);
        } else {
          const Pack<T, kPack> pack = LoadOf(o, i);
#pragma unroll
          for (int e = 0; e < kPack; ++e) numbers.x[o][e] = Widened(pack.of[e]);
        }
      }
      const int64_t left = end_ - i;
      if (packed_) {
        use(i, kPack, numbers, at);
      } else {
        use(i, left < kPack ? static_cast<int>(left) : kPack, numbers, at);
      }
    }
  }
  template <typename Use>
  __device__ void ForEach(Use use) const {
    ForEachPack([&](int64_t first, int count, const Numbers& numbers, int) {
#pragma unroll
      for (int e = 0; e < kPack; ++e) {
        if (e < count) use(ElementOf(first, numbers, e));
      }
    });
  }

  // Joins what the threads of the row have: each of them gets the whole.
  template <typename Value, typename Join>
  __device__ Value Joined(Value own, Join join) const {
    const int height = rows_.height;
    if (!rows_.contiguous) return JoinedInTree(own, join);
    own = JoinedInWarp(own, height < kWarpThreads ? height : kWarpThreads, join);
    if (height <= kWarpThreads) return own;
    const auto thread = static_cast<int>(threadIdx.x), warps = height / kWarpThreads;
    const double* partial = shared_.partial + thread / height * warps;  // of the row
    if (thread % kWarpThreads == 0) {
      shared_.partial[thread / kWarpThreads] = static_cast<double>(own);
    }
    __syncthreads();
    own = static_cast<Value>(partial[0]);
    for (int w = 1; w < warps; ++w) own = join(own, static_cast<Value>(partial[w]));
    __syncthreads();
    return own;
  }
  // The same where the threads of a row are rows_.width apart.
  template <typename Value, typename Join>
  __device__ Value JoinedInTree(Value own, Join join) const {
    double* partial = shared_.partial + threadIdx.x % static_cast<unsigned>(rows_.width);
    const int width = rows_.width;
    partial[rank_ * width] = static_cast<double>(own);
    __syncthreads();
    for (int step = rows_.height / 2; step > 0; step /= 2) {
      if (rank_ < step) {
        partial[rank_ * width] =
            static_cast<double>(join(static_cast<Value>(partial[rank_ * width]),
                                     static_cast<Value>(partial[(rank_ + step) * width])));
      }
      __syncthreads();
    }
    const double whole = partial[0];
    __syncthreads();
    return static_cast<Value>(whole);
  }

  const Rows& rows_;
  Shared& shared_;
  int rank_ = 0;                  // of this thread among those of its row
  int64_t row_ = 0, base_ = 0;    // the row's number, and where it begins
  int64_t end_ = 0;               // behind the row's last element; 0 where there is no row
  int64_t first_ = 0, step_ = 0;  // the thread's first element, and how far its packs are apart
  bool packed_ = false;           // all packs are whole, and aligned in memory
  bool keeps_ = false;
};

// Runs a function of a row, of which `kOperands` operands have the rows' dims, for all rows.
template <typename T, typename Function>
__device__ void ForEachRow(const Rows& rows, Function function) {
  using ThisRow = Row<T, Function::kOperands>;
  __shared__ typename ThisRow::Shared shared;
  if (threadIdx.x == 0) shared.shape = RowsOf(DimsOf(rows.x), rows.dim);
  __syncthreads();
  const int64_t groups = (shared.shape.rows + rows.width - 1) / rows.width;
  for (int64_t group = blockIdx.x; group < groups; group += gridDim.x) {
    const ThisRow row(rows, shared, group);
    function.Run(row);
  }
}

#define ROW_KERNEL(dtype, type, name)                                        \
  KERNEL(name##_##dtype, (Guard guard, const __grid_constant__ Rows rows)) { \
    if (Enter(guard)) ForEachRow<type>(rows, name##Row<type>());             \
  }

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ROWS_ROW_LOOP_H_
