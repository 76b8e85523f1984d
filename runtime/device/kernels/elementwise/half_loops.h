// Loops over f16 and bf16 in one pass: a block of elements, one or two vectors of f32, is widened,
// computed with and rounded in registers. Only where the processor has the conversions; elsewhere
// the operands go through tiles of f32 (elementwise.cpp), which gives the same bits.
#ifndef CGRAPH_RUNTIME_DEVICE_KERNELS_ELEMENTWISE_HALF_LOOPS_H_
#define CGRAPH_RUNTIME_DEVICE_KERNELS_ELEMENTWISE_HALF_LOOPS_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "runtime/device/kernels/elementwise/element_loops.h"
#include "runtime/device/numbers/half.h"
#include "runtime/device/numbers/targets.h"

namespace cgraph::device {

#if defined(__x86_64__)
// The conversions are not always_inline: the loop that calls them has no target of its own, and
// they become part of the versions of it that have theirs.
//
// bf16 are taken in pairs, as words of four bytes: their even elements make one vector, their odd
// elements another, and nothing has to be moved across lanes. f16 make one vector, in order.
struct Avx2Halves {
  static constexpr int kLanes = 8;

  CGRAPH_AVX2 static inline void Widen(const F16* from, float (&to)[1][kLanes]) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    _mm256_storeu_ps(to[0], _mm256_cvtph_ps(halves));
  }
  CGRAPH_AVX2 static inline void Narrow(const float (&from)[1][kLanes], F16* to) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from[0]), _MM_FROUND_TO_NEAREST_INT));
  }
  CGRAPH_AVX2 static inline void Widen(const BF16* from, float (&to)[2][kLanes]) {
    const __m256i pairs = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    _mm256_store_ps(to[0], _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16)));
    _mm256_store_ps(to[1], _mm256_castsi256_ps(_mm256_and_si256(pairs, High())));
  }
  CGRAPH_AVX2 static inline void Narrow(const float (&from)[2][kLanes], BF16* to) {
    const __m256i even = _mm256_srli_epi32(Rounded(_mm256_load_ps(from[0])), 16);
    const __m256i odd = _mm256_and_si256(Rounded(_mm256_load_ps(from[1])), High());
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_or_si256(even, odd));
  }

 private:
  CGRAPH_AVX2 static inline __m256i High() {
    return _mm256_set1_epi32(static_cast<int>(0xffff0000));
  }
  // BF16::Round, which is left in the upper halves.
  CGRAPH_AVX2 static inline __m256i Rounded(__m256 x) {
    const __m256i all = _mm256_castps_si256(x);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(all, 16), _mm256_set1_epi32(1));
    const __m256i even = _mm256_add_epi32(_mm256_add_epi32(all, _mm256_set1_epi32(0x7fff)), odd);
    const __m256i quiet = _mm256_or_si256(all, _mm256_set1_epi32(0x400000));
    const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    return _mm256_blendv_epi8(even, quiet, is_nan);
  }
};

struct Avx512Halves {
  static constexpr int kLanes = 16;

  CGRAPH_AVX512 static inline void Widen(const F16* from, float (&to)[1][kLanes]) {
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    _mm512_storeu_ps(to[0], _mm512_maskz_cvtph_ps(kAll, halves));
  }
  CGRAPH_AVX512 static inline void Narrow(const float (&from)[1][kLanes], F16* to) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm512_maskz_cvtps_ph(kAll, _mm512_loadu_ps(from[0]),
                                              _MM_FROUND_TO_NEAREST_INT));
  }
  CGRAPH_AVX512 static inline void Widen(const BF16* from, float (&to)[2][kLanes]) {
    const __m512i pairs = _mm512_loadu_si512(from);
    _mm512_store_ps(to[0], _mm512_castsi512_ps(_mm512_maskz_slli_epi32(kAll, pairs, 16)));
    _mm512_store_ps(to[1], _mm512_castsi512_ps(_mm512_and_si512(pairs, High())));
  }
  CGRAPH_AVX512 static inline void Narrow(const float (&from)[2][kLanes], BF16* to) {
    const __m512i even = Shifted(Rounded(_mm512_load_ps(from[0])));
    const __m512i odd = _mm512_and_si512(Rounded(_mm512_load_ps(from[1])), High());
    _mm512_storeu_si512(to, _mm512_or_si512(even, odd));
  }

 private:
  static constexpr __mmask16 kAll = 0xffff;  // GCC 12 warns of what unmasked intrinsics pass on
  CGRAPH_AVX512 static inline __m512i High() {
    return _mm512_set1_epi32(static_cast<int>(0xffff0000));
  }
  CGRAPH_AVX512 static inline __m512i Shifted(__m512i bits) {
    return _mm512_maskz_srli_epi32(kAll, bits, 16);
  }
  // BF16::Round, which is left in the upper halves; a NaN is made quiet.
  CGRAPH_AVX512 static inline __m512i Rounded(__m512 x) {
    constexpr int kQuietNan = 0x22;  // the responses to both kinds of NaN; others stay
    const __m512i all = _mm512_castps_si512(x);
    const __m512i odd = _mm512_and_si512(Shifted(all), _mm512_set1_epi32(1));
    const __m512i even = _mm512_add_epi32(_mm512_add_epi32(all, _mm512_set1_epi32(0x7fff)), odd);
    return _mm512_castps_si512(_mm512_fixupimm_ps(_mm512_castsi512_ps(even), x,
                                                  _mm512_set1_epi32(kQuietNan), 0));
  }
};

// `Block::Out` is what a block makes: f32, which is rounded to `Half`, or bytes. Operand o stands
// still where bit o of `standing` is set.
template <typename Halves, typename Half, typename Block, int standing>
class HalfLoop {
 public:
  CGRAPH_INLINE static void Run(const void* const* in, void* out, int64_t count) {
    const Half* from[kMostOperands];
    alignas(64) Vectors x[kMostOperands];
    for (int o = 0; o < Block::kOperands; ++o) {
      from[o] = static_cast<const Half*>(in[o]);
      if (Stands(o)) std::fill_n(&x[o][0][0], kBlock, static_cast<float>(*from[o]));
    }
    Stored* to = static_cast<Stored*>(out);
    int64_t i = 0;
    for (; i + kBlock <= count; i += kBlock) RunBlock(from, i, x, to + i);
    if (i == count) return;
    Half last[kMostOperands][kBlock] = {};
    Stored results[kBlock];
    for (int o = 0; o < Block::kOperands; ++o) {
      if (!Stands(o)) std::copy(from[o] + i, from[o] + count, last[o]);
      from[o] = last[o];
    }
    RunBlock(from, 0, x, results);
    std::copy(results, results + (count - i), to + i);
  }

 private:
  using Out = typename Block::Out;
  using Stored = std::conditional_t<std::is_same_v<Out, float>, Half, Out>;
  static constexpr int kLanes = Halves::kLanes;
  static constexpr int kVectors = std::is_same_v<Half, BF16> ? 2 : 1;
  static constexpr int kBlock = kVectors * kLanes;
  using Vectors = float[kVectors][kLanes];
  static constexpr bool Stands(int operand) { return (standing >> operand & 1) != 0; }

  CGRAPH_INLINE static void RunBlock(const Half* const* from, int64_t at,
                                     Vectors (&x)[kMostOperands], Stored* to) {
    alignas(64) Out y[kVectors][kLanes];
    for (int o = 0; o < Block::kOperands; ++o) {
      if (!Stands(o)) Halves::Widen(from[o] + at, x[o]);
    }
    RunVector<0>(x, y);
    if constexpr (kVectors == 2) RunVector<1>(x, y);
    if constexpr (std::is_same_v<Out, float>) {
      Halves::Narrow(y, to);
    } else {
      for (int j = 0; j < kBlock; ++j) to[j] = y[j % kVectors][j / kVectors];
    }
  }
  template <int v>
  CGRAPH_INLINE static void RunVector(const Vectors (&x)[kMostOperands],
                                      Out (&y)[kVectors][kLanes]) {
    CGRAPH_FOR_LANES(j, kLanes) {
      if constexpr (Block::kOperands == 1) y[v][j] = Block::Of(x[0][v][j]);
      else y[v][j] = Block::Of(x[0][v][j], x[1][v][j]);
    }
  }
};

// An operation on one element, and one on two that gives f32 or bytes.
template <typename Operation>
struct UnaryBlock {
  using Out = float;
  static constexpr int kOperands = 1;
  CGRAPH_INLINE static float Of(float x) { return Operation::Of(x); }
};
template <typename Operation, typename Result>
struct BinaryBlock {
  using Out = Result;
  static constexpr int kOperands = 2;
  CGRAPH_INLINE static Result Of(float a, float b) { return Operation::Of(a, b); }
};

#endif

// The loop for the widest vectors that have the conversions; null where the processor has none.
template <typename Half, typename Block, int standing = 0>
ElementLoop HalfLoopOf() {
#if defined(__x86_64__)
  using Loop512 = HalfLoop<Avx512Halves, Half, Block, standing>;
  using Loop2 = HalfLoop<Avx2Halves, Half, Block, standing>;
  if (HasAvx512()) return Versions<Loop512>::Avx512;
  if (HasAvx2()) return Versions<Loop2>::Avx2;
#endif
  return nullptr;
}

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_KERNELS_ELEMENTWISE_HALF_LOOPS_H_
