// Kernels that work on rows: each row of `along` elements by itself, such as softmax.
//
// A row function computes in f32 or f64 on contiguous rows. Rows of f32 and f64 along the last
// dimension are worked on where they lie; others are brought into a workspace of the kernel's own,
// which is as long as the longest row and was taken when the kernel was made.
#ifndef CGRAPH_RUNTIME_DEVICE_KERNELS_ROWS_H_
#define CGRAPH_RUNTIME_DEVICE_KERNELS_ROWS_H_

#include <vector>

#include "runtime/device/kernels/element_loops.h"
#include "runtime/device/kernels/makers.h"
#include "runtime/device/numbers/targets.h"

namespace cgraph::device {

// `in` and `out` are rows of `count`; behind the rows in `in` are operands that all rows share.
template <typename C>
using RowFunction = void (*)(const C* const* in, C* out, int64_t count, double epsilon);

// Sums side by side, added in a fixed order: f32 in f32 over blocks of a few hundred elements,
// whose sums are added in f64.
template <typename C, typename Term>
CGRAPH_INLINE double SumOfTerms(int64_t count, Term term) {
  constexpr int kSums = 128 / sizeof(C);
  constexpr int64_t kSteps = 16;
  double total = 0;
  int64_t i = 0;
  while (i + kSums <= count) {
    const int64_t steps = (count - i) / kSums < kSteps ? (count - i) / kSums : kSteps;
    C sums[kSums] = {};
    for (int64_t s = 0; s < steps; ++s, i += kSums) {
      for (int j = 0; j < kSums; ++j) sums[j] += term(i + j);
    }
    for (int width = kSums / 2; width > 0; width /= 2) {
      for (int j = 0; j < width; ++j) sums[j] += sums[j + width];
    }
    total += sums[0];
  }
  for (; i < count; ++i) total += term(i);
  return total;
}

// One row of an operand, wherever it lies, to and from contiguous elements of C.
template <typename T>
struct RowAccess {
  using C = Compute<T>;
  int64_t inner;  // elements from one of the row to the next
  HalfLoops half;

  bool direct() const { return inner == 1 && !kIsHalf<T>; }
  void Load(const T* from, C* to, int64_t count) const {
    if constexpr (kIsHalf<T>) {
      if (inner == 1) return half.widen(from, to, count);
    }
    for (int64_t i = 0; i < count; ++i) to[i] = from[i * inner];
  }
  void Store(const C* from, T* to, int64_t count) const {
    if constexpr (kIsHalf<T>) {
      if (inner == 1) return half.narrow(from, to, count);
    }
    for (int64_t i = 0; i < count; ++i) to[i * inner] = T(from[i]);
  }
};

template <typename T>
class RowKernel final : public Kernel {
 public:
  using C = Compute<T>;
  static constexpr int kMostRows = 3;

  // The first `rows` inputs have the result's dimensions, of which `dim` is worked along; the rest
  // are vectors as long as a row.
  RowKernel(const Request& request, RowFunction<C> function, int rows, int dim, double epsilon)
      : function_(function), rows_(rows), dim_(dim), epsilon_(epsilon),
        half_(HalfLoopsOf(request.outputs[0].dtype)),
        longest_(request.outputs[0].dims[dim]) {
    const size_t workspaces = request.inputs.size() + 1;
    workspace_.resize(workspaces * static_cast<size_t>(longest_));
  }

  bool Run(std::span<const Tensor> inputs, std::span<const Tensor> outputs, void*,
           std::string&) override {
    const Tensor& out = outputs[0];
    const int64_t outer = Product(out, 0, dim_), along = out.dims[dim_];
    const RowAccess<T> access{Product(out, dim_ + 1, out.rank), half_};
    const RowAccess<T> shared{1, half_};
    const C* in[kMostRows];
    for (size_t i = static_cast<size_t>(rows_); i < inputs.size(); ++i) {
      in[i] = RowOf(shared, inputs[i].as<T>(), Workspace(i), along);
    }
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t j = 0; j < access.inner; ++j) {
        const int64_t first = o * along * access.inner + j;
        for (size_t i = 0; i < static_cast<size_t>(rows_); ++i) {
          in[i] = RowOf(access, inputs[i].as<T>() + first, Workspace(i), along);
        }
        T* to = out.as<T>() + first;
        if constexpr (!kIsHalf<T>) {
          if (access.direct()) {
            function_(in, to, along, epsilon_);
            continue;
          }
        }
        C* result = Workspace(inputs.size());
        function_(in, result, along, epsilon_);
        access.Store(result, to, along);
      }
    }
    return true;
  }

 private:
  C* Workspace(size_t i) { return workspace_.data() + i * static_cast<size_t>(longest_); }
  static const C* RowOf(const RowAccess<T>& access, const T* from, C* workspace, int64_t count) {
    if constexpr (!kIsHalf<T>) {
      if (access.direct()) return from;
    }
    access.Load(from, workspace, count);
    return workspace;
  }

  RowFunction<C> function_;
  int rows_, dim_;
  double epsilon_;
  HalfLoops half_;
  int64_t longest_;
  std::vector<C> workspace_;
};

// A row kernel of `Row<C>::Run` for the result's dtype, which must be a float.
template <template <typename> typename Row>
KernelResult MakeRows(const Request& request, int rows, int dim, double epsilon) {
  if (!Contains(DTypes::kFloat, request.outputs[0].dtype)) return NoKernel(request);
  CGRAPH_RETURN_IF_ERROR(ExpectRowLength(request, request.outputs[0], dim));
  std::unique_ptr<Kernel> kernel;
  WithType(request.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (kIsFloat<T>) {
      kernel = std::make_unique<RowKernel<T>>(request, WidestOf<Row<Compute<T>>>(), rows, dim,
                                              epsilon);
    }
  });
  return kernel;
}

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_KERNELS_ROWS_H_
