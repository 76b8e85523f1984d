// Loops of the operations of one operand and of the conversions of f16 and bf16; the whole table.
#include "runtime/device/kernels/loop_templates.h"

namespace cgraph::device {
namespace {

template <typename Half>
struct WidenLoop {
  CGRAPH_INLINE static void Run(const void* half, void* f32, int64_t count) {
    const Half* from = static_cast<const Half*>(half);
    float* to = static_cast<float*>(f32);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) to[i] = from[i];
  }
};

template <typename Half>
struct NarrowLoop {
  CGRAPH_INLINE static void Run(const void* f32, void* half, int64_t count) {
    const float* from = static_cast<const float*>(f32);
    Half* to = static_cast<Half*>(half);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) to[i] = Half(from[i]);
  }
};

}  // namespace

std::optional<ElementOp> FindUnary(std::string_view name, DType dtype) {
#define UNARY(op_name, operation, dtypes) \
  if (name == op_name) return UnaryOp<operation, DTypes::dtypes>(dtype);
#include "runtime/device/kernels/kernels.def"
  return std::nullopt;
}

std::optional<ElementOp> FindElementOp(std::string_view name, DType dtype) {
  for (auto find : {FindBinary, FindCompare, FindUnary}) {
    if (std::optional<ElementOp> op = find(name, dtype)) return op;
  }
  return std::nullopt;
}

HalfLoops HalfLoopsOf(DType dtype) {
  if (dtype == DType::f16) return {WidestOf<WidenLoop<F16>>(), WidestOf<NarrowLoop<F16>>()};
  return {WidestOf<WidenLoop<BF16>>(), WidestOf<NarrowLoop<BF16>>()};
}

}  // namespace cgraph::device
