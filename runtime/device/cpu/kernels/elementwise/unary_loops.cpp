// Loops of the operations of one operand; the whole table, and the conversions of f16 and bf16.
#include "runtime/device/cpu/kernels/elementwise/loop_templates.h"

namespace cgraph::device {
std::optional<ElementOp> FindUnary(std::string_view name, DType dtype) {
#define UNARY(op_name, operation, dtypes) \
  if (name == op_name) return UnaryOp<operation, DTypes::dtypes>(dtype);
#include "runtime/device/cpu/kernels/kernels.def"
  return std::nullopt;
}

std::optional<ElementOp> FindElementOp(std::string_view name, DType dtype) {
  for (auto find : {FindOfSeveral, FindCompare, FindUnary}) {
    if (std::optional<ElementOp> op = find(name, dtype)) return op;
  }
  return std::nullopt;
}

HalfLoops HalfLoopsOf(DType dtype) {
  if (dtype == DType::f16) {
#if defined(__x86_64__)
    if (HasAvx512()) {
      return {Versions<WidenRow<Avx512Halves>>::Avx512,
              Versions<NarrowRow<Avx512Halves, F16>>::Avx512};
    }
    if (HasAvx2()) {
      return {Versions<WidenRow<Avx2Halves>>::Avx2, Versions<NarrowRow<Avx2Halves, F16>>::Avx2};
    }
#endif
    return {WidestOf<WidenLoop<F16>>(), WidestOf<NarrowLoop<F16>>()};
  }
  HalfLoops loops{WidestOf<WidenLoop<BF16>>(), WidestOf<NarrowLoop<BF16>>()};
#if defined(__x86_64__)
  if (HasAvx512()) loops.narrow = Versions<NarrowRow<Avx512Halves, BF16>>::Avx512;
  else if (HasAvx2()) loops.narrow = Versions<NarrowRow<Avx2Halves, BF16>>::Avx2;
#endif
  return loops;
}

}  // namespace cgraph::device
