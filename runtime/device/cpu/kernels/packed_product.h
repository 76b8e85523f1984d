// A few rows times packed weights: blocks of 32 numbers of 8 or 4 bits, of 16 outputs side by side,
// with an f16 scale for each block and output, and of 4 bits a minimum, too. The product of a block
// is summed before it is scaled, so numbers are widened and nothing else. Weights are read once, in
// the order of memory.
//
// A block of an output is summed in four parts, and outputs are the lanes, so the bits are the same
// whatever vectors the processor has, and however many rows are multiplied together.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_PACKED_PRODUCT_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_PACKED_PRODUCT_H_

#include <algorithm>
#include <cstdint>

#include "runtime/device/cpu/kernels/elementwise/half_vectors.h"
#include "runtime/device/numbers/binary_format.h"
#include "runtime/device/numbers/half.h"
#include "runtime/device/numbers/targets.h"

namespace cgraph::device {

inline constexpr int64_t kPackedOutputs = 16;  // side by side
inline constexpr int64_t kPackedBlock = 32;    // numbers of a row with one scale

// Weights as packed tensors have them (stdlib/std/quant.cgraph).
struct PackedWeights {
  const void* q;       // i8[groups, blocks, 32, 16], or u8[groups, blocks, 4, 16, 4]: two in each
  const F16* scale;    // f16[groups, blocks, 16]
  const F16* minimum;  // the same, or null
  int64_t groups, blocks;
};

// c[r, j] = sum of x[r, i] * weight[j, i] for `rows` rows. sums[r, b] is the sum of block b of row
// r of x, which weights with a minimum need.
using PackedProductFunction = void (*)(const float* x, const float* sums, int64_t rows,
                                       const PackedWeights& weights, float* c);

// Returns the column within its block of number i of the word `word` of an output, in 4 bits.
constexpr int64_t ColumnOfNibble(int64_t word, int64_t i) {
  return i % 2 * kPackedBlock / 2 + 4 * word + i / 2;
}

// Numbers of each output, widened: one vector, or one lane where the processor has no vectors.
struct SingleNumbers {
  static constexpr int kLanes = 1;
  CGRAPH_INLINE static void Widen(const int8_t* from, float (&to)[1]) { to[0] = *from; }
  template <int i>
  CGRAPH_INLINE static void WidenNibble(const uint8_t* words, float (&to)[1]) {
    to[0] = static_cast<float>(words[i / 2] >> i % 2 * 4 & 15);
  }
  CGRAPH_INLINE static void Widen(const F16* from, float (&to)[1]) { to[0] = *from; }
};

#if defined(__x86_64__)
struct Avx2Numbers {
  static constexpr int kLanes = 8;
  CGRAPH_AVX2 static inline void Widen(const int8_t* from, float (&to)[kLanes]) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    _mm256_storeu_ps(to, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)));
  }
  template <int i>
  CGRAPH_AVX2 static inline void WidenNibble(const uint8_t* words, float (&to)[kLanes]) {
    const __m256i all = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words));
    const __m256i number = _mm256_and_si256(_mm256_srli_epi32(all, 4 * i), _mm256_set1_epi32(15));
    _mm256_storeu_ps(to, _mm256_cvtepi32_ps(number));
  }
  CGRAPH_AVX2 static inline void Widen(const F16* from, float (&to)[kLanes]) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    _mm256_storeu_ps(to, _mm256_cvtph_ps(halves));
  }
};

struct Avx512Numbers {
  static constexpr int kLanes = 16;
  CGRAPH_AVX512 static inline void Widen(const int8_t* from, float (&to)[kLanes]) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    const __m512i words = _mm512_maskz_cvtepi8_epi32(kAll, bytes);
    _mm512_storeu_ps(to, _mm512_maskz_cvtepi32_ps(kAll, words));
  }
  // The float of 4 bits is looked up in a vector; higher bits of the index do not count.
  template <int i>
  CGRAPH_AVX512 static inline void WidenNibble(const uint8_t* words, float (&to)[kLanes]) {
    const __m512 floats = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i all = _mm512_loadu_si512(words);
    const __m512i number = _mm512_maskz_srli_epi32(kAll, all, 4 * i);
    _mm512_storeu_ps(to, _mm512_maskz_permutexvar_ps(kAll, number, floats));
  }
  CGRAPH_AVX512 static inline void Widen(const F16* from, float (&to)[kLanes]) {
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    _mm512_storeu_ps(to, _mm512_maskz_cvtph_ps(kAll, halves));
  }

 private:
  static constexpr __mmask16 kAll = 0xffff;  // GCC 12 warns of what unmasked intrinsics pass on
};
#endif

template <typename Numbers, bool nibbles>
class PackedProduct {
 public:
  CGRAPH_INLINE static void Run(const float* x, const float* sums, int64_t rows,
                                const PackedWeights& weights, float* c) {
    const int64_t k = weights.blocks * kPackedBlock;
    for (int64_t g = 0; g < weights.groups; ++g) {
      for (int lane = 0; lane < kPackedOutputs; lane += kLanes) {
        float* const to = c + g * kPackedOutputs + lane;
        int64_t r = 0;
        if constexpr (kLanes == 16) {
          for (; r + 4 <= rows; r += 4) AddUp<4>(x + r * k, sums, r, weights, g, lane, to);
        }
        for (; r + 2 <= rows; r += 2) AddUp<2>(x + r * k, sums, r, weights, g, lane, to);
        if (r < rows) AddUp<1>(x + r * k, sums, r, weights, g, lane, to);
      }
    }
  }

 private:
  static constexpr int kLanes = Numbers::kLanes;
  static constexpr int kParts = 4;
  static constexpr int64_t kBlockBytes = kPackedBlock * kPackedOutputs / (nibbles ? 2 : 1);

  // Computes outputs of `rows` rows from row `row` on, which begins at x: those of group g, from
  // `lane` on. Registers hold the sums of so many rows.
  template <int rows>
  CGRAPH_INLINE static void AddUp(const float* x, const float* sums, int64_t row,
                                  const PackedWeights& weights, int64_t g, int lane, float* c) {
    const int64_t blocks = weights.blocks, width = weights.groups * kPackedOutputs;
    sums += row * blocks, c += row * width;
    float totals[rows][kLanes] = {};
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t block = g * blocks + b;
      float parts[rows][kParts][kLanes] = {};
      if constexpr (nibbles) {
        const auto* words = static_cast<const uint8_t*>(weights.q) + block * kBlockBytes + lane * 4;
        CGRAPH_KEEP_LOOP for (int word = 0; word < 4; ++word, words += 4 * kPackedOutputs) {
          Prefetch(words);
          AddWord<rows>(x + b * kPackedBlock, blocks * kPackedBlock, word, words, parts);
        }
      } else {
        const auto* numbers = static_cast<const int8_t*>(weights.q) + block * kBlockBytes + lane;
        CGRAPH_KEEP_LOOP for (int i = 0; i < kPackedBlock; i += kParts) {
          Prefetch(numbers);
#pragma GCC unroll 4
          for (int part = 0; part < kParts; ++part, numbers += kPackedOutputs) {
            float y[kLanes];
            Numbers::Widen(numbers, y);
            Add<rows>(x + b * kPackedBlock + i + part, blocks * kPackedBlock, y, part, parts);
          }
        }
      }
      float scale[kLanes], minimum[kLanes] = {};
      Numbers::Widen(weights.scale + block * kPackedOutputs + lane, scale);
      if constexpr (nibbles) {
        Numbers::Widen(weights.minimum + block * kPackedOutputs + lane, minimum);
      }
#pragma GCC unroll 4
      for (int r = 0; r < rows; ++r) {
        const auto& p = parts[r];
        CGRAPH_FOR_LANES(l, kLanes) {
          const float sum = (p[0][l] + p[2][l]) + (p[1][l] + p[3][l]);
          totals[r][l] = Fma(scale[l], sum, totals[r][l]);
          if constexpr (nibbles) totals[r][l] = Fma(minimum[l], sums[r * blocks + b], totals[r][l]);
        }
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      CGRAPH_FOR_LANES(l, kLanes) c[r * width + l] = totals[r][l];
    }
  }

  // Adds the products of the eight numbers of each output's word.
  template <int rows>
  CGRAPH_INLINE static void AddWord(const float* x, int64_t k, int word, const uint8_t* words,
                                    float (&parts)[rows][kParts][kLanes]) {
    AddNibble<rows, 0>(x, k, word, words, parts), AddNibble<rows, 1>(x, k, word, words, parts);
    AddNibble<rows, 2>(x, k, word, words, parts), AddNibble<rows, 3>(x, k, word, words, parts);
    AddNibble<rows, 4>(x, k, word, words, parts), AddNibble<rows, 5>(x, k, word, words, parts);
    AddNibble<rows, 6>(x, k, word, words, parts), AddNibble<rows, 7>(x, k, word, words, parts);
  }
  template <int rows, int i>
  CGRAPH_INLINE static void AddNibble(const float* x, int64_t k, int word, const uint8_t* words,
                                      float (&parts)[rows][kParts][kLanes]) {
    float y[kLanes];
    Numbers::template WidenNibble<i>(words, y);
    Add<rows>(x + ColumnOfNibble(word, i), k, y, i % kParts, parts);
  }
  template <int rows>
  CGRAPH_INLINE static void Add(const float* x, int64_t k, const float (&y)[kLanes], int part,
                                float (&parts)[rows][kParts][kLanes]) {
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      const float factor = x[r * k];
      float(&sum)[kLanes] = parts[r][part];
      CGRAPH_FOR_LANES(l, kLanes) sum[l] = Fma(factor, y[l], sum[l]);
    }
  }

  // Into the second-level cache, from where the weights are read next.
  CGRAPH_INLINE static void Prefetch(const void* from) {
    constexpr int kAhead = 4096;
    __builtin_prefetch(static_cast<const char*>(from) + kAhead, 0, 2);
  }
};

template <bool nibbles>
PackedProductFunction PackedProductOf() {
#if defined(__x86_64__)
  if (HasAvx512()) return Versions<PackedProduct<Avx512Numbers, nibbles>>::Avx512;
  if (HasAvx2()) return Versions<PackedProduct<Avx2Numbers, nibbles>>::Avx2;
#endif
  return Versions<PackedProduct<SingleNumbers, nibbles>>::Baseline;
}

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_PACKED_PRODUCT_H_
