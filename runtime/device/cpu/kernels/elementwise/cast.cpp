// Casts between all dtypes.
#include "runtime/device/cpu/kernels/elementwise/elementwise_ops.h"
#include "runtime/device/cpu/kernels/makers.h"
#include "runtime/device/numbers/targets.h"

namespace cgraph::device {
namespace {

struct Bool {};  // a target type: whether the element is not zero

template <typename From, typename To>
struct CastLoop {
  CGRAPH_INLINE static void Run(const void* x, void* out, int64_t count) {
    const From* from = static_cast<const From*>(x);
    for (int64_t i = 0; i < count; ++i) {
      const Compute<From> value = from[i];
      if constexpr (std::is_same_v<To, Bool>) static_cast<uint8_t*>(out)[i] = value != 0;
      else static_cast<To*>(out)[i] = CastTo<To>(value);
    }
  }
};

}  // namespace

KernelResult MakeCast(const Request& request) {
  CGRAPH_RETURN_IF_ERROR(ExpectCounts(request, 1, 1));
  CGRAPH_RETURN_IF_ERROR(ExpectSameDims(request, request.inputs[0], request.outputs[0]));
  void (*loop)(const void*, void*, int64_t) = nullptr;
  WithType(request.inputs[0].dtype, [&](auto from) {
    using From = decltype(from);
    if (request.outputs[0].dtype == DType::bool_) {
      loop = BestOf<CastLoop<From, Bool>>();
      return;
    }
    WithType(request.outputs[0].dtype,
             [&](auto to) { loop = BestOf<CastLoop<From, decltype(to)>>(); });
  });
  return KernelOf([loop](std::span<const Tensor> in, std::span<const Tensor> out) {
    loop(in[0].data, out[0].data, out[0].elements());
  });
}

}  // namespace cgraph::device
