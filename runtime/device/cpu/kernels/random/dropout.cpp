// dropout: elements become 0 with a probability, by a seed that is known while running; the others
// are scaled. As a function of the gradient it is its own gradient.
#include <fmt/format.h>

#include "runtime/device/cpu/kernels/makers.h"
#include "runtime/device/numbers/normal_numbers.h"

namespace cgraph::device {

KernelResult MakeDropout(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 2, 1));
  CGRAPH_RETURN_IF_ERROR(ExpectScalar(request, request.inputs[1], DType::i64));
  CGRAPH_RETURN_IF_ERROR(ExpectSameDims(request, request.inputs[0], request.outputs[0]));
  if (request.inputs[0].dtype != request.outputs[0].dtype) {
    return Invalid(request, "its operand and its result have one dtype");
  }
  if (!Contains(DTypes::kFloat, request.outputs[0].dtype)) return NoKernel(request);
  Result<double> p = FloatAttribute(request, "p");
  if (!p.ok()) return p.status();
  if (!(*p >= 0 && *p <= 1)) return Invalid(request, fmt::format("{} is no probability", *p));
  std::unique_ptr<Kernel> kernel;
  WithType(request.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (kIsFloat<T>) {
      kernel = KernelOf([kept = Kept(*p)](std::span<const Tensor> in, std::span<const Tensor> out) {
        const uint64_t stream = StreamOf(*in[1].as<int64_t>());
        const int64_t count = out[0].elements();
        for (int64_t i = 0; i < count; ++i) {
          out[0].as<T>()[i] = static_cast<T>(kept.Of<Compute<T>>(in[0].as<T>()[i], stream, i));
        }
      });
    }
  });
  return kernel;
}

}  // namespace cgraph::device
