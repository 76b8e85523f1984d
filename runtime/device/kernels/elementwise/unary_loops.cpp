// Loops of the operations of one operand and of the conversions of f16 and bf16; the whole table.
#if defined(__x86_64__)
#include <immintrin.h>
#endif

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
// Between f16 and f32 by the processor's own instructions, eight at a time.
[[gnu::target("avx,f16c")]] void WidenF16(const void* half, void* f32, int64_t count) {
  const uint16_t* from = static_cast<const uint16_t*>(half);
  float* to = static_cast<float*>(f32);
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i eight = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(eight));
  }
  WidenLoop<F16>::Run(from + i, to + i, count - i);
}
[[gnu::target("avx,f16c")]] void NarrowF16(const void* f32, void* half, int64_t count) {
  const float* from = static_cast<const float*>(f32);
  uint16_t* to = static_cast<uint16_t*>(half);
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i eight = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), eight);
  }
  NarrowLoop<F16>::Run(from + i, to + i, count - i);
}
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
  if (dtype == DType::f16 && __builtin_cpu_supports("f16c")) return {WidenF16, NarrowF16};
#endif
  if (dtype == DType::f16) return {WidestOf<WidenLoop<F16>>(), WidestOf<NarrowLoop<F16>>()};
  return {WidestOf<WidenLoop<BF16>>(), WidestOf<NarrowLoop<BF16>>()};
}

}  // namespace cgraph::device
