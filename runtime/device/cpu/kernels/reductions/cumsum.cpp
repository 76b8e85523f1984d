// cumsum, and its gradient, which adds from the end. Sums are made as those of reductions are, in
// f64 for floats of up to four bytes, in the order of the elements.
#include <algorithm>

#include "runtime/device/cpu/kernels/makers.h"
#include "runtime/device/cpu/kernels/reductions/reductions.h"

namespace cgraph::device {
namespace {

// Many columns side by side; an element is read before it is written.
template <typename T, bool from_end>
void AddUpAlong(const Columns& columns, const T* x, T* out) {
  constexpr int64_t kTogether = 64;
  Sum<T> sums[kTogether];
  for (int64_t o = 0; o < columns.outer; ++o) {
    for (int64_t first = 0; first < columns.inner; first += kTogether) {
      const int64_t count = std::min(kTogether, columns.inner - first);
      std::fill(sums, sums + count, Sum<T>(0));
      for (int64_t i = 0; i < columns.along; ++i) {
        const int64_t row = from_end ? columns.along - 1 - i : i;
        const int64_t at = (o * columns.along + row) * columns.inner + first;
        for (int64_t j = 0; j < count; ++j) {
          sums[j] = Add::Of(sums[j], Sum<T>(x[at + j]));
          out[at + j] = static_cast<T>(sums[j]);
        }
      }
    }
  }
}

template <bool from_end>
KernelResult MakeCumulative(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 1, 1));
  CGRAPH_RETURN_IF_ERROR(ExpectOneDType(request));
  CGRAPH_RETURN_IF_ERROR(ExpectSameDims(request, request.inputs[0], request.outputs[0]));
  Result<int> dim = DimAttribute(request, "dim", request.inputs[0]);
  if (!dim.ok()) return dim.status();
  if (!Contains(DTypes::kNumber, request.outputs[0].dtype)) return NoKernel(request);
  std::unique_ptr<Kernel> kernel;
  WithType(request.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    kernel = KernelOf([dim = *dim](std::span<const Tensor> in, std::span<const Tensor> out) {
      AddUpAlong<T, from_end>(ColumnsOf(in[0], dim), in[0].as<T>(), out[0].as<T>());
    });
  });
  return kernel;
}

}  // namespace

KernelResult MakeCumsum(const Request& request) { return MakeCumulative<false>(request); }
KernelResult MakeCumsumGrad(const Request& request) { return MakeCumulative<true>(request); }

}  // namespace cgraph::device
