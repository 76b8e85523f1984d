// The loop of kernels that work on rows, each row by itself: a block does some rows at once, with
// the same number of threads each.
//
// Every thread has some packs of its row, which it alone reads and writes, so that a result may lie
// where an operand does. A thread keeps its elements in shared memory where they have room, so that
// they are read once; else they are read again. Sums are made in f64, by each thread in the order of
// its elements and then in a tree: the order depends on the extents alone, not on where the elements
// lie.
#ifndef CGRAPH_RUNTIME_CUDA_KERNELS_ROWS_ROW_LOOP_H_
#define CGRAPH_RUNTIME_CUDA_KERNELS_ROWS_ROW_LOOP_H_

#include <limits>

#include "runtime/cuda/kernels/device_numbers.h"
#include "runtime/cuda/kernels/pack.h"
#include "runtime/cuda/kernels/rows/arguments.h"
#include "runtime/cuda/kernels/warp.h"
#include "runtime/device/kernels/elementwise/elementwise_ops.h"

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
  static constexpr int kAtOnce = 4;  // packs that are on their way from memory at once
  static_assert(kKept % (kAtOnce * kPack) == 0 || kKept < kAtOnce * kPack);

 public:
  struct Shared {
    RowShape shape;
    C kept[operands][kKept][kRowThreads];
    double partial[kRowThreads];
  };

  __device__ Row(const Rows& rows, Shared& shared, int64_t group) : rows_(rows), shared_(shared) {
    const int thread = static_cast<int>(threadIdx.x);
    const int slot = rows.contiguous ? thread / rows.height : thread % rows.width;
    rank_ = rows.contiguous ? thread % rows.height : thread / rows.width;
    row_ = group * rows.width + slot;
    const RowShape& shape = shared.shape;
    count_ = row_ < shape.rows ? shape.along : 0;
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
    ForEach([&](const Element& element, C*) { sum += static_cast<double>(term(element)); });
    return Joined(sum, [](double a, double b) { return a + b; });
  }
  // As Sum; where elements are kept, the terms take the places of the first operand's.
  template <typename Term>
  __device__ double SumAndKeep(Term term) const {
    double sum = 0;
    ForEach([&](const Element& element, C* kept) {
      const C value = term(element);
      sum += static_cast<double>(value);
      if (kept != nullptr) *kept = value;
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
    const auto greater = [](C a, C b) { return b > a ? b : a; };
    C most = -std::numeric_limits<C>::infinity();
    ForEach([&](const Element& element, C*) { most = greater(most, element.x[0]); });
    return Joined(most, greater);
  }
  // Makes `value(element)` the row's result.
  template <typename Value>
  __device__ void Store(Value value) const {
    ForEachPack([&](int64_t first, const C (&x)[operands][kPack], C*) {
      Pack<T, kPack> pack;
#pragma unroll
      for (int e = 0; e < kPack; ++e) pack.of[e] = Stored<T>(value(ElementOf(first, x, e)));
      T* out = static_cast<T*>(rows_.out.data) + base_ + first * shared_.shape.inner;
      if (packed_) return StorePack(out, pack);
#pragma unroll
      for (int e = 0; e < kPack; ++e) {
        if (first + e < count_) out[e * shared_.shape.inner] = pack.of[e];
      }
    });
  }

 private:
  using Packs = Pack<T, kPack>[operands][kAtOnce];

  // Brings the thread's elements into shared memory, each operand's where this thread alone reads.
  __device__ void Keep() const {
    for (int64_t i = first_, at = 0; i < count_; i += kAtOnce * step_, at += kAtOnce * kPack) {
      Packs packs;
#pragma unroll
      for (int o = 0; o < operands; ++o) {
#pragma unroll
        for (int p = 0; p < kAtOnce; ++p) packs[o][p] = LoadOf(o, i + p * step_);
      }
#pragma unroll
      for (int o = 0; o < operands; ++o) {
#pragma unroll
        for (int p = 0; p < kAtOnce; ++p) {
          if (at + p * kPack >= kKept) continue;
#pragma unroll
          for (int e = 0; e < kPack; ++e) {
            shared_.kept[o][at + p * kPack + e][threadIdx.x] = Widened(packs[o][p].of[e]);
          }
        }
      }
    }
  }

  // Returns a pack of an operand; elements beyond the row are zeros.
  __device__ Pack<T, kPack> LoadOf(int operand, int64_t first) const {
    Pack<T, kPack> pack = {};
    const T* x = static_cast<const T*>(rows_.in[operand].data) + base_ +
                 first * shared_.shape.inner;
    if (packed_) {
      if (first < count_) pack = LoadPack<T, kPack>(x);
      return pack;
    }
#pragma unroll
    for (int e = 0; e < kPack; ++e) {
      if (first + e < count_) pack.of[e] = x[e * shared_.shape.inner];
    }
    return pack;
  }

  static __device__ Element ElementOf(int64_t first, const C (&x)[operands][kPack], int e) {
    Element element;
    element.index = first + e;
#pragma unroll
    for (int o = 0; o < operands; ++o) element.x[o] = x[o][e];
    return element;
  }

  // Calls `use(first, x, kept)` for each of the thread's packs; `kept` is where the first operand's
  // elements are kept, kRowThreads apart, or null.
  template <typename Use>
  __device__ void ForEachPack(Use use) const {
    for (int64_t i = first_, at = 0; i < count_; i += step_, at += kPack) {
      C x[operands][kPack];
#pragma unroll
      for (int o = 0; o < operands; ++o) {
        if (keeps_) {
#pragma unroll
          for (int e = 0; e < kPack; ++e) x[o][e] = shared_.kept[o][at + e][threadIdx.x];
        } else {
          const Pack<T, kPack> pack = LoadOf(o, i);
#pragma unroll
          for (int e = 0; e < kPack; ++e) x[o][e] = Widened(pack.of[e]);
        }
      }
      use(i, x, keeps_ ? &shared_.kept[0][at][threadIdx.x] : nullptr);
    }
  }
  template <typename Use>
  __device__ void ForEach(Use use) const {
    ForEachPack([&](int64_t first, const C (&x)[operands][kPack], C* kept) {
#pragma unroll
      for (int e = 0; e < kPack; ++e) {
        if (first + e >= count_) continue;
        use(ElementOf(first, x, e), kept == nullptr ? nullptr : kept + e * kRowThreads);
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
    if (thread % kWarpThreads == 0) shared_.partial[thread / kWarpThreads] = static_cast<double>(own);
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
        partial[rank_ * width] = static_cast<double>(
            join(static_cast<Value>(partial[rank_ * width]),
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
  int rank_ = 0;                      // of this thread among those of its row
  int64_t row_ = 0, count_ = 0;       // count_: the elements of the row; 0 of none
  int64_t base_ = 0;                  // where the row begins
  int64_t first_ = 0, step_ = 0;      // the thread's first element, and how far its packs are apart
  bool packed_ = false;               // all packs are whole, and aligned in memory
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

#define ROW_KERNEL(dtype, type, name)                                                 \
  KERNEL(name##_##dtype, (Guard guard, const __grid_constant__ Rows rows)) {          \
    if (Enter(guard)) ForEachRow<type>(rows, name##Row<type>());                      \
  }

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_CUDA_KERNELS_ROWS_ROW_LOOP_H_
