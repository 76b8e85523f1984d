// Kernels that work on rows: each row of `along` elements by itself, such as softmax.
//
// A row function computes in f32 or f64 on contiguous rows. Rows of f32 and f64 along the last
// dimension are worked on where they lie; others are brought into a workspace of the kernel's own,
// which holds the longest row, or several short ones, and was taken when the kernel was made.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ROWS_ROWS_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ROWS_ROWS_H_

#include <algorithm>
#include <type_traits>
#include <vector>

#include "runtime/device/cpu/kernels/elementwise/element_loops.h"
#include "runtime/device/cpu/kernels/elementwise/half_vectors.h"
#include "runtime/device/cpu/kernels/makers.h"
#include "runtime/device/cpu/kernels/rows/lanes.h"
#include "runtime/device/cpu/kernels/workspace.h"
#include "runtime/device/numbers/targets.h"

namespace cgraph::device {

// `in` and `out` are `rows` rows of `count` elements, one after another, and `out` may be one of
// `in`. In `in`, the operands that all rows share stand behind the rows.
template <typename C>
using RowFunction = void (*)(const C* const* in, C* out, int64_t rows, int64_t count,
                             double epsilon);

// As RowFunction, for a function that rounds its results to f16 or bf16 itself, in registers.
template <typename T>
using RoundingRowFunction = void (*)(const float* const* in, T* out, int64_t rows, int64_t count,
                                     double epsilon);

// How results are stored: to[i] = of(i) for i < count.
struct StoreAsIs {
  template <typename C, typename Of>
  CGRAPH_INLINE static void Run(C* to, int64_t count, Of of) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) to[i] = of(i);
  }
};
#if defined(__x86_64__)
template <typename Halves>
struct StoreRounded {
  template <typename T, typename Of>
  CGRAPH_INLINE static void Run(T* to, int64_t count, Of of) {
    constexpr int kLanes = Halves::kLanes, kVectors = std::is_same_v<T, BF16> ? 2 : 1;
    int64_t i = 0;
    for (; i + kVectors * kLanes <= count; i += kVectors * kLanes) {
      alignas(64) float y[kVectors][kLanes];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        CGRAPH_FOR_LANES(l, kLanes) y[v][l] = of(i + v * kLanes + l);
      }
      Halves::NarrowRow(y[0], to + i);
    }
    for (; i < count; ++i) to[i] = T(of(i));
  }
};
#endif

// Returns the rounding function of rows that have `Into<Store, T>`, on a processor that has the
// conversions; else null.
template <typename Rows, typename T>
RoundingRowFunction<T> RoundingOf() {
#if defined(__x86_64__)
  if constexpr (kIsHalf<T> && requires { &Rows::template Into<StoreAsIs, float>::Run; }) {
    using Into512 = typename Rows::template Into<StoreRounded<Avx512Halves>, T>;
    using Into2 = typename Rows::template Into<StoreRounded<Avx2Halves>, T>;
    if (HasAvx512()) return Versions<Into512>::Avx512;
    if (HasAvx2()) return Versions<Into2>::Avx2;
  }
#endif
  return nullptr;
}

// Makes a RowFunction of a function of one row with `operands` operands, none of which is shared.
template <typename Row, typename C, int operands>
struct OneByOne {
  CGRAPH_INLINE static void Run(const C* const* in, C* out, int64_t rows, int64_t count,
                                double epsilon) {
    for (int64_t r = 0; r < rows; ++r) {
      const C* row[operands];
      for (int i = 0; i < operands; ++i) row[i] = in[i] + r * count;
      Row::Run(row, out + r * count, count, epsilon);
    }
  }
};

// Moves elements of an operand, `inner` apart, to and from contiguous elements of C.
template <typename T>
struct RowAccess {
  using C = Compute<T>;
  int64_t inner;
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
  static constexpr int kMostOperands = 3;

  // The first `rows` inputs have the result's dimensions; the kernel works along `dim`. The other
  // inputs are vectors as long as a row.
  RowKernel(const Request& request, RowFunction<C> function, RoundingRowFunction<T> rounding,
            int rows, int dim, double epsilon)
      : function_(function), rounding_(rounding), rows_(rows), dim_(dim), epsilon_(epsilon),
        half_(HalfLoopsOf(request.outputs[0].dtype)),
        space_(std::max(request.outputs[0].dims[dim], kBatch)) {
    workspace_.resize(request.inputs.size() * static_cast<size_t>(space_));
  }

  bool Run(std::span<const Tensor> inputs, std::span<const Tensor> outputs, void*,
           std::string&) override {
    const Tensor& out = outputs[0];
    const int64_t outer = Product(out, 0, dim_), along = out.dims[dim_];
    if (along == 0) return true;
    const RowAccess<T> access{Product(out, dim_ + 1, out.rank), half_};
    const RowAccess<T> shared{1, half_};
    const C* in[kMostOperands];
    for (size_t i = static_cast<size_t>(rows_); i < inputs.size(); ++i) {
      in[i] = RowsOf(shared, inputs[i].as<T>(), Space(i), along);
    }
    // Rows that follow one another are taken in batches of as many as the workspace holds.
    const int64_t most = access.inner == 1 ? space_ / along : 1;
    for (int64_t o = 0; o < outer; o += most) {
      const int64_t count = std::min(most, outer - o);
      for (int64_t j = 0; j < access.inner; ++j) {
        RunRows(inputs, out, access, in, o * along * access.inner + j, count, along);
      }
    }
    return true;
  }

 private:
  // Runs `count` rows, the first of which begins at element `first`; `in` has the operands that all
  // rows share.
  void RunRows(std::span<const Tensor> inputs, const Tensor& out, const RowAccess<T>& access,
               const C** in, int64_t first, int64_t count, int64_t along) {
    const auto rows = static_cast<size_t>(rows_);
    for (size_t i = 0; i < rows; ++i) {
      in[i] = RowsOf(access, inputs[i].as<T>() + first, Space(i), count * along);
    }
    if constexpr (kIsHalf<T>) {
      if (rounding_ != nullptr && access.inner == 1) {
        return rounding_(in, out.as<T>() + first, count, along, epsilon_);
      }
    }
    C* to = Space(0);  // where the first operand was brought: a row function may overwrite it
    if constexpr (!kIsHalf<T>) {
      if (access.direct()) to = out.as<T>() + first;
    }
    function_(in, to, count, along, epsilon_);
    if (!access.direct()) access.Store(to, out.as<T>() + first, count * along);
  }
  C* Space(size_t i) { return workspace_.data() + i * static_cast<size_t>(space_); }
  static const C* RowsOf(const RowAccess<T>& access, const T* from, C* workspace, int64_t count) {
    if constexpr (!kIsHalf<T>) {
      if (access.direct()) return from;
    }
    access.Load(from, workspace, count);
    return workspace;
  }

  // elements: the operands together fit the first-level cache
  static constexpr int64_t kBatch = 2048;
  RowFunction<C> function_;
  RoundingRowFunction<T> rounding_;  // for rows that are contiguous; may be null
  int rows_, dim_;
  double epsilon_;
  HalfLoops half_;
  int64_t space_;  // elements
  Workspace<C> workspace_;
};

// Makes a row kernel of `Rows<C>::Run` for the result's dtype, which must be a float.
template <template <typename> typename Rows>
KernelResult MakeRows(const Request& request, int rows, int dim, double epsilon) {
  if (!Contains(DTypes::kFloat, request.outputs[0].dtype)) return NoKernel(request);
  CGRAPH_RETURN_IF_ERROR(ExpectWorkspaceFits(request, request.outputs[0], dim));
  std::unique_ptr<Kernel> kernel;
  WithType(request.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (kIsFloat<T>) {
      using C = Compute<T>;
      kernel = std::make_unique<RowKernel<T>>(request, WidestOf<Rows<C>>(),
                                              RoundingOf<Rows<C>, T>(), rows, dim, epsilon);
    }
  });
  return kernel;
}

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ROWS_ROWS_H_
