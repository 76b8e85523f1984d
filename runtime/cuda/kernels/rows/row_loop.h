// The loop of kernels that work on rows, each row by itself: a block does some rows at once, with the
// same number of threads each.
//
// Every thread has some elements of its row, which it alone reads and writes, so that a result may
// lie where an operand does. Elements are kept in shared memory where the rows of the block fit, so
// that they are read once; else they are read again. Sums are made in f64, by each thread in the
// order of its elements and then in a tree: the order depends on the extents alone.
#ifndef CGRAPH_RUNTIME_CUDA_KERNELS_ROWS_ROW_LOOP_H_
#define CGRAPH_RUNTIME_CUDA_KERNELS_ROWS_ROW_LOOP_H_

#include <limits>

#include "runtime/cuda/kernels/device_numbers.h"
#include "runtime/cuda/kernels/rows/arguments.h"
#include "runtime/device/kernels/elementwise/elementwise_ops.h"

namespace cgraph::cuda {

inline constexpr int kRowThreads = 256;

// Row: one row as its threads see it. All threads of the block call Sum and Max together; those
// beyond the last row have no elements.
template <typename T, int operands>
class Row {
 public:
  using C = Compute<T>;
  static constexpr int kKept = 32768 / (operands * sizeof(C));  // elements of each operand

  struct Shared {
    RowShape shape;
    C kept[operands][kKept];
    double partial[kRowThreads];
  };

  __device__ Row(const Rows& rows, Shared& shared, int64_t group) : rows_(rows), shared_(shared) {
    const int thread = static_cast<int>(threadIdx.x);
    slot_ = rows.contiguous ? thread / rows.height : thread % rows.width;
    first_ = rows.contiguous ? thread % rows.height : thread / rows.width;
    row_ = group * rows.width + slot_;
    count_ = row_ < shared.shape.rows ? shared.shape.along : 0;
    keeps_ = shared.shape.along * rows.width <= kKept;
    const Quotient place = Divided(row_, shared.shape.inner);
    base_ = place.whole * shared.shape.along * shared.shape.inner + place.rest;
    if (!keeps_) return;
    for (int o = 0; o < operands; ++o) {
      for (int64_t i = first_; i < count_; i += rows.height) {
        shared.kept[o][slot_ * shared.shape.along + i] = Read(o, i);
      }
    }
  }

  __device__ int64_t row() const { return row_; }
  __device__ bool exists() const { return row_ < shared_.shape.rows; }
  __device__ int64_t count() const { return shared_.shape.along; }
  __device__ bool leads() const { return first_ == 0 && exists(); }  // one thread of each row
  __device__ double epsilon() const { return rows_.epsilon; }

  // Returns an element of this thread's.
  __device__ C X(int operand, int64_t i) const {
    if (keeps_) return shared_.kept[operand][slot_ * shared_.shape.along + i];
    return Read(operand, i);
  }
  // Returns any element of the row, as it was before anything is stored.
  __device__ C Read(int operand, int64_t i) const {
    return Widened(static_cast<const T*>(rows_.in[operand].data)[base_ + i * shared_.shape.inner]);
  }
  // Element i of a vector that all rows share.
  __device__ C Vector(int operand, int64_t i) const {
    return Widened(static_cast<const T*>(rows_.in[operand].data)[i]);
  }
  __device__ void Store(int64_t i, C value) const {
    static_cast<T*>(rows_.out.data)[base_ + i * shared_.shape.inner] = Stored<T>(value);
  }

  // Calls `use(i)` for each element of this thread's.
  template <typename Use>
  __device__ void ForEach(Use use) const {
    for (int64_t i = first_; i < count_; i += rows_.height) use(i);
  }
  template <typename Term>
  __device__ double Sum(Term term) const {
    double sum = 0;
    ForEach([&](int64_t i) { sum += static_cast<double>(term(i)); });
    return Joined(sum, [](double a, double b) { return a + b; });
  }
  // Returns the greatest element of the first operand; NaN does not count. -inf of none.
  __device__ C Max() const {
    C most = -std::numeric_limits<C>::infinity();
    ForEach([&](int64_t i) {
      const C x = X(0, i);
      most = x > most ? x : most;
    });
    return static_cast<C>(Joined(static_cast<double>(most),
                                 [](double a, double b) { return b > a ? b : a; }));
  }

 private:
  template <typename Join>
  __device__ double Joined(double own, Join join) const {
    double* partial = shared_.partial + slot_ * rows_.height;
    partial[first_] = own;
    __syncthreads();
    for (int step = rows_.height / 2; step > 0; step /= 2) {
      if (first_ < step) partial[first_] = join(partial[first_], partial[first_ + step]);
      __syncthreads();
    }
    const double whole = partial[0];
    __syncthreads();
    return whole;
  }

  const Rows& rows_;
  Shared& shared_;
  int slot_ = 0, first_ = 0;
  int64_t row_ = 0, count_ = 0, base_ = 0;
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
