// Conversions of vectors of f16 and bf16 to and from vectors of f32 by the processor's
// instructions, with the bits of half.h.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ELEMENTWISE_HALF_VECTORS_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ELEMENTWISE_HALF_VECTORS_H_

#if defined(__x86_64__)

#include <immintrin.h>

#include <array>
#include <cstdint>
#include <type_traits>

#include "runtime/device/numbers/half.h"
#include "runtime/device/numbers/targets.h"

namespace cgraph::device {

// The conversions are not always_inline. The loop that calls them has no target of its own, and
// they become part of those versions of the loop that have theirs.
//
// bf16 are taken in pairs, as words of four bytes: their even elements make one vector, their odd
// elements another, and nothing has to be moved across lanes. f16 make one vector, in order.
//
// A value that is rounded to bf16 was computed from bf16. So a NaN has an operand's payload or
// none: its lower half is 0, and it stays a NaN when it is rounded as a number.
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
    constexpr int kOdd = 0xaa;
    const __m256i even = _mm256_srli_epi32(RoundedNumber(_mm256_load_ps(from[0])), 16);
    const __m256i odd = RoundedNumber(_mm256_load_ps(from[1]));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_blend_epi16(even, odd, kOdd));
  }
  // Widens elements in order.
  CGRAPH_AVX2 static inline void WidenRow(const F16* from, float (&to)[1][kLanes]) {
    Widen(from, to);
  }
  CGRAPH_AVX2 static inline void WidenRow(const BF16* from, float (&to)[1][kLanes]) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    const __m256i words = _mm256_cvtepu16_epi32(halves);
    _mm256_storeu_ps(to[0], _mm256_castsi256_ps(_mm256_slli_epi32(words, 16)));
  }
  // Widens kLanes rows of 2 * kLanes elements, which are `width` apart, and transposes them.
  template <typename T>
  CGRAPH_AVX2 static inline void WidenColumns(const T* from, int64_t width, float* to,
                                              int64_t to_width) {
    __m256i pairs[kLanes];
#pragma GCC unroll 8
    for (int i = 0; i < kLanes; ++i) {
      pairs[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i * width));
    }
    Exchange<1>(pairs), Exchange<2>(pairs), Exchange<4>(pairs);
#pragma GCC unroll 8
    for (int i = 0; i < kLanes; ++i, to += 2 * to_width) {
      __m256 first, second;
      if constexpr (std::is_same_v<T, BF16>) {
        first = _mm256_castsi256_ps(_mm256_slli_epi32(pairs[i], 16));
        second = _mm256_castsi256_ps(_mm256_and_si256(pairs[i], High()));
      } else {
        const __m256i both = _mm256_permute4x64_epi64(
            _mm256_packus_epi32(_mm256_andnot_si256(High(), pairs[i]),
                                _mm256_srli_epi32(pairs[i], 16)), kInOrder);
        first = _mm256_cvtph_ps(_mm256_castsi256_si128(both));
        second = _mm256_cvtph_ps(_mm256_extracti128_si256(both, 1));
      }
      _mm256_storeu_ps(to, first), _mm256_storeu_ps(to + to_width, second);
    }
  }
  CGRAPH_AVX2 static inline void NarrowRow(const float* from, F16* to) {
    Narrow(*reinterpret_cast<const float(*)[1][kLanes]>(from), to);
  }
  CGRAPH_AVX2 static inline void NarrowRow(const float* from, BF16* to) {
    const __m256i first = _mm256_srli_epi32(RoundedNumber(_mm256_loadu_ps(from)), 16);
    const __m256i last = _mm256_srli_epi32(RoundedNumber(_mm256_loadu_ps(from + kLanes)), 16);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm256_permute4x64_epi64(_mm256_packus_epi32(first, last), kInOrder));
  }

 private:
  static constexpr int kInOrder = 0xd8;  // packing takes the halves of two vectors in turn
  CGRAPH_AVX2 static inline __m256i High() {
    return _mm256_set1_epi32(static_cast<int>(0xffff0000));
  }
  // A step of a transposition: of the squares of `step` lanes of `step` vectors, exchanges those
  // beside the diagonal.
  template <int step>
  CGRAPH_AVX2 static inline void Exchange(__m256i (&rows)[kLanes]) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i across = _mm256_xor_si256(lanes, _mm256_set1_epi32(step));
    const __m256i upper = _mm256_cmpgt_epi32(lanes, across);
#pragma GCC unroll 8
    for (int i = 0; i < kLanes; ++i) {
      if ((i & step) != 0) continue;
      const __m256i a = rows[i], b = rows[i + step];
      rows[i] = _mm256_blendv_epi8(a, _mm256_permutevar8x32_epi32(b, across), upper);
      rows[i + step] = _mm256_blendv_epi8(_mm256_permutevar8x32_epi32(a, across), b, upper);
    }
  }
  // Rounds as BF16::Round does; the result is in the upper halves.
  CGRAPH_AVX2 static inline __m256i RoundedNumber(__m256 x) {
    const __m256i all = _mm256_castps_si256(x);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(all, 16), _mm256_set1_epi32(1));
    return _mm256_add_epi32(_mm256_add_epi32(all, _mm256_set1_epi32(0x7fff)), odd);
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
    constexpr __mmask32 kEven = 0x55555555;
    const __m512i even = Shifted(RoundedNumber(_mm512_load_ps(from[0])));
    const __m512i odd = RoundedNumber(_mm512_load_ps(from[1]));
    _mm512_storeu_si512(to, _mm512_mask_mov_epi16(odd, kEven, even));
  }
  CGRAPH_AVX512 static inline void WidenRow(const F16* from, float (&to)[1][kLanes]) {
    Widen(from, to);
  }
  CGRAPH_AVX512 static inline void WidenRow(const BF16* from, float (&to)[1][kLanes]) {
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    const __m512i words = _mm512_maskz_cvtepu16_epi32(kAll, halves);
    _mm512_storeu_ps(to[0], _mm512_castsi512_ps(_mm512_maskz_slli_epi32(kAll, words, 16)));
  }
  template <typename T>
  CGRAPH_AVX512 static inline void WidenColumns(const T* from, int64_t width, float* to,
                                                int64_t to_width) {
    __m512i pairs[kLanes];
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) pairs[i] = _mm512_loadu_si512(from + i * width);
    Exchange<1>(pairs), Exchange<2>(pairs), Exchange<4>(pairs), Exchange<8>(pairs);
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i, to += 2 * to_width) {
      __m512 first, second;
      if constexpr (std::is_same_v<T, BF16>) {
        first = _mm512_castsi512_ps(_mm512_maskz_slli_epi32(kAll, pairs[i], 16));
        second = _mm512_castsi512_ps(_mm512_and_si512(pairs[i], High()));
      } else {
        first = _mm512_maskz_cvtph_ps(kAll, _mm512_maskz_cvtepi32_epi16(kAll, pairs[i]));
        second = _mm512_maskz_cvtph_ps(kAll, _mm512_maskz_cvtepi32_epi16(kAll, Shifted(pairs[i])));
      }
      _mm512_storeu_ps(to, first), _mm512_storeu_ps(to + to_width, second);
    }
  }
  CGRAPH_AVX512 static inline void NarrowRow(const float* from, F16* to) {
    Narrow(*reinterpret_cast<const float(*)[1][kLanes]>(from), to);
  }
  CGRAPH_AVX512 static inline void NarrowRow(const float* from, BF16* to) {
    alignas(64) static constexpr auto kUpper = [] {  // of each word of both vectors
      std::array<uint16_t, 2 * kLanes> at{};
      for (int i = 0; i < 2 * kLanes; ++i) at[i] = static_cast<uint16_t>(2 * i + 1);
      return at;
    }();
    const __m512i first = RoundedNumber(_mm512_loadu_ps(from));
    const __m512i last = RoundedNumber(_mm512_loadu_ps(from + kLanes));
    _mm512_storeu_si512(
        to, _mm512_permutex2var_epi16(first, _mm512_load_si512(kUpper.data()), last));
  }

 private:
  static constexpr __mmask16 kAll = 0xffff;  // GCC 12 warns of what unmasked intrinsics pass on
  CGRAPH_AVX512 static inline __m512i High() {
    return _mm512_set1_epi32(static_cast<int>(0xffff0000));
  }
  CGRAPH_AVX512 static inline __m512i Shifted(__m512i bits) {
    return _mm512_maskz_srli_epi32(kAll, bits, 16);
  }
  template <int step>
  CGRAPH_AVX512 static inline void Exchange(__m512i (&rows)[kLanes]) {
    constexpr int kSecond = kLanes;  // in the numbers of lanes of two vectors
    alignas(64) static constexpr auto kFrom = [] {
      std::array<std::array<int32_t, kLanes>, 2> from{};
      for (int i = 0; i < kLanes; ++i) {
        const bool upper = (i & step) != 0;
        from[0][i] = upper ? kSecond + i - step : i;
        from[1][i] = upper ? kSecond + i : i + step;
      }
      return from;
    }();
    const __m512i lower = _mm512_load_si512(kFrom[0].data());
    const __m512i upper = _mm512_load_si512(kFrom[1].data());
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) {
      if ((i & step) != 0) continue;
      const __m512i a = rows[i], b = rows[i + step];
      rows[i] = _mm512_permutex2var_epi32(a, lower, b);
      rows[i + step] = _mm512_permutex2var_epi32(a, upper, b);
    }
  }
  // Rounds as BF16::Round does; the result is in the upper halves.
  CGRAPH_AVX512 static inline __m512i RoundedNumber(__m512 x) {
    const __m512i all = _mm512_castps_si512(x);
    const __mmask16 odd = _mm512_test_epi32_mask(all, _mm512_set1_epi32(0x10000));
    const __m512i down = _mm512_add_epi32(all, _mm512_set1_epi32(0x7fff));
    return _mm512_mask_add_epi32(down, odd, down, _mm512_set1_epi32(1));
  }
};

}  // namespace cgraph::device

#endif

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ELEMENTWISE_HALF_VECTORS_H_
