// Loops of the operations of one operand and of the conversions of f16 and bf16; the whole table.
#include "runtime/device/kernels/elementwise/loop_templates.h"

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

#if defined(__x86_64__)
// Between f16 and f32 by the processor's own instructions.
template <typename Halves>
struct WidenF16 {
  CGRAPH_INLINE static void Run(const void* half, void* f32, int64_t count) {
    constexpr int kLanes = Halves::kLanes;
    const F16* from = static_cast<const F16*>(half);
    float* to = static_cast<float*>(f32);
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      Halves::Widen(from + i, *reinterpret_cast<float(*)[1][kLanes]>(to + i));
    }
    WidenLoop<F16>::Run(from + i, to + i, count - i);
  }
};
template <typename Halves>
struct NarrowF16 {
  CGRAPH_INLINE static void Run(const void* f32, void* half, int64_t count) {
    constexpr int kLanes = Halves::kLanes;
    const float* from = static_cast<const float*>(f32);
    F16* to = static_cast<F16*>(half);
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      Halves::Narrow(*reinterpret_cast<const float(*)[1][kLanes]>(from + i), to + i);
    }
    NarrowLoop<F16>::Run(from + i, to + i, count - i);
  }
};
#endif

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
#if defined(__x86_64__)
  if (dtype == DType::f16 && HasAvx512()) {
    return {Versions<WidenF16<Avx512Halves>>::Avx512, Versions<NarrowF16<Avx512Halves>>::Avx512};
  }
  if (dtype == DType::f16 && HasAvx2()) {
    return {Versions<WidenF16<Avx2Halves>>::Avx2, Versions<NarrowF16<Avx2Halves>>::Avx2};
  }
#endif
  if (dtype == DType::f16) return {WidestOf<WidenLoop<F16>>(), WidestOf<NarrowLoop<F16>>()};
  return {WidestOf<WidenLoop<BF16>>(), WidestOf<NarrowLoop<BF16>>()};
}

}  // namespace cgraph::device
