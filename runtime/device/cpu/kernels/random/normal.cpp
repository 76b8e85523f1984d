// normal and uniform: random numbers by a seed, the same bits on every machine
// (numbers/normal_numbers.h). Element i is a function of the seed and i. The seed is an operand or,
// of `normal`, may be an attribute.
#include "runtime/device/cpu/kernels/makers.h"
#include "runtime/device/numbers/normal_numbers.h"

namespace cgraph::device {
namespace {

// Makes a kernel of `number(stream, i)`, whose only operand is the seed.
template <typename T, typename Number>
std::unique_ptr<Kernel> SeededBy(Number number) {
  return KernelOf([number](std::span<const Tensor> in, std::span<const Tensor> out) {
    const uint64_t stream = StreamOf(*in[0].as<int64_t>());
    const int64_t count = out[0].elements();
    for (int64_t i = 0; i < count; ++i) out[0].as<T>()[i] = static_cast<T>(number(stream, i));
  });
}

Status CheckSeeded(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 1, 1));
  CGRAPH_RETURN_IF_ERROR(ExpectScalar(request, request.inputs[0], DType::i64));
  if (!Contains(DTypes::kFloat, request.outputs[0].dtype)) return NoKernel(request);
  return Status::Ok();
}

// `normal` with the seed as an attribute.
KernelResult MakeFixedNormal(const Request& request) {
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

}  // namespace

KernelResult MakeNormal(const Request& request) {
  if (request.inputs.empty()) return MakeFixedNormal(request);
  CGRAPH_RETURN_IF_ERROR(CheckSeeded(request));
  std::unique_ptr<Kernel> kernel;
  WithType(request.outputs[0].dtype, [&](auto zero) {
    kernel = SeededBy<decltype(zero)>(NormalNumber);
  });
  return kernel;
}

KernelResult MakeUniform(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(CheckSeeded(request));
  std::unique_ptr<Kernel> kernel;
  WithType(request.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (kIsFloat<T>) {
      kernel = SeededBy<T>(
          [](uint64_t stream, int64_t i) { return UniformOf(kDigits<T>, stream, i); });
    }
  });
  return kernel;
}

}  // namespace cgraph::device
