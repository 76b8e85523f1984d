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
    // Every second number lies in the lower half of a byte; compilers do this once for all four.
    const __m256i bytes = _mm256_and_si256(_mm256_srli_epi32(all, i % 2 * 4),
                                           _mm256_set1_epi8(15));
    __m256i number;
    if constexpr (i / 2 == 3) {
      number = _mm256_srli_epi32(bytes, 24);
    } else {
      constexpr int kByte = static_cast<int>(0x80808000u) + i / 2;  // and three that are 0
      const __m128i first = _mm_setr_epi32(kByte, kByte + 4, kByte + 8, kByte + 12);
      number = _mm256_shuffle_epi8(bytes, _mm256_broadcastsi128_si256(first));
    }
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
      int64_t r = 0;
      if constexpr (kLanes == 16) {
        for (; r + 4 <= rows; r += 4) AddUpAll<4, 1>(x + r * k, sums, r, weights, g, c);
      }
      for (; r + 2 <= rows; r += 2) AddUpAll<2, 1>(x + r * k, sums, r, weights, g, c);
      if (r < rows) AddUpAll<1, kOneRow>(x + r * k, sums, r, weights, g, c);
    }
  }

 private:
  static constexpr int kLanes = Numbers::kLanes;
  static constexpr int kParts = 4;
  static constexpr int kOneRow = kLanes == 8 ? 2 : 1;  // vectors side by side: more hide latencies
  static constexpr int64_t kBlockBytes = kPackedBlock * kPackedOutputs / (nibbles ? 2 : 1);

  // Computes outputs of `rows` rows from row `row` on, which begins at x: those of group g, some
  // vectors at a time. Registers hold the sums of so many rows and vectors.
  template <int rows, int vectors>
  CGRAPH_INLINE static void AddUpAll(const float* x, const float* sums, int64_t row,
                                     const PackedWeights& weights, int64_t g, float* c) {
    CGRAPH_KEEP_LOOP for (int lane = 0; lane < kPackedOutputs; lane += vectors * kLanes) {
      AddUp<rows, vectors>(x, sums, row, weights, g, lane, c + g * kPackedOutputs + lane);
    }
  }
  template <int rows, int vectors>
  CGRAPH_INLINE static void AddUp(const float* x, const float* sums, int64_t row,
                                  const PackedWeights& weights, int64_t g, int lane, float* c) {
    const int64_t blocks = weights.blocks, width = weights.groups * kPackedOutputs;
    sums += row * blocks, c += row * width;
    float totals[rows][vectors][kLanes] = {};
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t block = g * blocks + b;
      float parts[rows][vectors][kParts][kLanes] = {};
      if constexpr (nibbles) {
        const auto* words = static_cast<const uint8_t*>(weights.q) + block * kBlockBytes + lane * 4;
        CGRAPH_KEEP_LOOP for (int word = 0; word < 4; ++word, words += 4 * kPackedOutputs) {
          Prefetch(words);
          AddWord(x + b * kPackedBlock, blocks * kPackedBlock, word, words, parts);
        }
      } else {
        const auto* numbers = static_cast<const int8_t*>(weights.q) + block * kBlockBytes + lane;
        CGRAPH_KEEP_LOOP for (int i = 0; i < kPackedBlock; i += kParts) {
          Prefetch(numbers);
#pragma GCC unroll 4
          for (int part = 0; part < kParts; ++part, numbers += kPackedOutputs) {
#pragma GCC unroll 2
            for (int v = 0; v < vectors; ++v) {
              float y[kLanes];
              Numbers::Widen(numbers + v * kLanes, y);
              Add(x + b * kPackedBlock + i + part, blocks * kPackedBlock, y, v, part, parts);
            }
          }
        }
      }
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) {
        float scale[kLanes], minimum[kLanes] = {};
        Numbers::Widen(weights.scale + block * kPackedOutputs + lane + v * kLanes, scale);
        if constexpr (nibbles) {
          Numbers::Widen(weights.minimum + block * kPackedOutputs + lane + v * kLanes, minimum);
        }
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r) {
          const auto& p = parts[r][v];
          float(&total)[kLanes] = totals[r][v];
          CGRAPH_FOR_LANES(l, kLanes) {
            const float sum = (p[0][l] + p[2][l]) + (p[1][l] + p[3][l]);
            total[l] = Fma(scale[l], sum, total[l]);
            if constexpr (nibbles) total[l] = Fma(minimum[l], sums[r * blocks + b], total[l]);
          }
        }
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) {
        CGRAPH_FOR_LANES(l, kLanes) c[r * width + v * kLanes + l] = totals[r][v][l];
      }
    }
  }

  // Adds the products of the eight numbers of each output's word.
  template <int rows, int vectors>
  CGRAPH_INLINE static void AddWord(const float* x, int64_t k, int word, const uint8_t* words,
                                    float (&parts)[rows][vectors][kParts][kLanes]) {
    AddNibble<0>(x, k, word, words, parts), AddNibble<1>(x, k, word, words, parts);
    AddNibble<2>(x, k, word, words, parts), AddNibble<3>(x, k, word, words, parts);
    AddNibble<4>(x, k, word, words, parts), AddNibble<5>(x, k, word, words, parts);
    AddNibble<6>(x, k, word, words, parts), AddNibble<7>(x, k, word, words, parts);
  }
  template <int i, int rows, int vectors>
  CGRAPH_INLINE static void AddNibble(const float* x, int64_t k, int word, const uint8_t* words,
                                      float (&parts)[rows][vectors][kParts][kLanes]) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      float y[kLanes];
      Numbers::template WidenNibble<i>(words + v * kLanes * 4, y);
      Add(x + ColumnOfNibble(word, i), k, y, v, i % kParts, parts);
    }
  }
  template <int rows, int vectors>
  CGRAPH_INLINE static void Add(const float* x, int64_t k, const float (&y)[kLanes], int v,
                                int part, float (&parts)[rows][vectors][kParts][kLanes]) {
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      const float factor = x[r * k];
      float(&sum)[kLanes] = parts[r][v][part];
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
