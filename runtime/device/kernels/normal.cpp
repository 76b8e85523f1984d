// normal: standard normal numbers by a seed (numbers/normal_numbers.h).
#include "runtime/device/kernels/makers.h"
#include "runtime/device/numbers/normal_numbers.h"

namespace cgraph::device {

KernelResult MakeNormal(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 0, 1));
  Result<int64_t> seed = IntAttribute(request, "seed");
  if (!seed.ok()) return seed.status();
  if (!Contains(DTypes::kFloat, request.outputs[0].dtype)) return NoKernel(request);
  const uint64_t stream = StreamOf(*seed);
  std::unique_ptr<Kernel> kernel;
  WithType(request.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    kernel = KernelOf([stream](std::span<const Tensor>, std::span<const Tensor> out) {
      const int64_t count = out[0].elements();
      for (int64_t i = 0; i < count; ++i) {
        out[0].as<T>()[i] = static_cast<T>(NormalNumber(stream, i));
      }
    });
  });
  return kernel;
}

}  // namespace cgraph::device
