// `same`: a tensor whose extent in one dimension is, from here on, known to be another tensor's.
//
// The compiler counts two extents as equal when they are one value. Where a program knows better,
// this kernel compares them at run time: it fails, or hands the tensor on under the other one's
// extent.
#include <fmt/format.h>

#include "runtime/device/cpu/kernels/failures.h"
#include "runtime/device/cpu/kernels/makers.h"

namespace cgraph::device {

KernelResult MakeSame(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 2, 1));
  const OperandType& x = request.inputs[0];
  const OperandType& y = request.inputs[1];
  const OperandType& out = request.outputs[0];
  Result<int> dim = DimAttribute(request, "dim", x);
  if (!dim.ok()) return dim.status();
  bool fits = *dim < y.rank && y.dtype == out.dtype && y.rank == out.rank;
  for (int i = 0; fits && i < out.rank; ++i) {
    fits = i == *dim ? SameDim(x, i, out, i) : SameDim(y, i, out, i);
  }
  if (!fits) {
    return Invalid(request, fmt::format("{} is not {} with dimension {} of {}", TypeText(out),
                                        TypeText(y), *dim, TypeText(x)));
  }
  return KernelOf([dim = *dim](std::span<const Tensor> in, std::span<const Tensor> out,
                               std::string& error) {
    if (in[0].dims[dim] != in[1].dims[dim]) {
      error = NotSameText(dim, in[0].dims[dim], in[1].dims[dim]);
      return false;
    }
    CopyBytes(out[0].data, in[1].data, in[1].bytes());
    return true;
  });
}

}  // namespace cgraph::device
