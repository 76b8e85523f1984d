// one_hot: a row for each index, which is 1 there and 0 elsewhere.
#include <algorithm>

#include "runtime/device/cpu/kernels/failures.h"
#include "runtime/device/cpu/kernels/makers.h"

namespace cgraph::device {
namespace {

template <typename T>
bool OneHot(const Tensor& index, const Tensor& out, std::string& error) {
  const int64_t classes = out.dims[out.rank - 1], count = index.elements();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = index.as<int64_t>()[i];
    if (at >= 0 && at < classes) continue;
    error = NotAlongText("one_hot", i, at, classes);
    return false;
  }
  std::fill_n(out.as<T>(), count * classes, T(0));
  for (int64_t i = 0; i < count; ++i) {
    out.as<T>()[i * classes + index.as<int64_t>()[i]] = T(1);
  }
  return true;
}

}  // namespace

KernelResult MakeOneHot(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 1, 1));
  const OperandType& index = request.inputs[0];
  if (index.dtype != DType::i64) return Invalid(request, "its index must be i64");
  OperandType rows = request.outputs[0];
  if (rows.rank == 0) return Invalid(request, "its result has a last dimension of classes");
  --rows.rank;
  CGRAPH_RETURN_IF_ERROR(ExpectSameDims(request, index, rows));
  std::unique_ptr<Kernel> kernel;
  WithType(rows.dtype, [&](auto zero) {
    using T = decltype(zero);
    kernel = KernelOf([](std::span<const Tensor> in, std::span<const Tensor> out,
                         std::string& error) { return OneHot<T>(in[0], out[0], error); });
  });
  return kernel;
}

}  // namespace cgraph::device
