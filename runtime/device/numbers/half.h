// f16 and bf16: numbers of two bytes that are computed with as f32 and rounded to nearest even when
// stored.
//
// The conversions have no branches, so loops of them vectorise. From f64 they round once, as NumPy
// does: the intermediate f32 is rounded to odd, so the second rounding cannot go wrong (Boldo,
// Melquiond, "When double rounding is odd", 2005).
#ifndef CGRAPH_RUNTIME_DEVICE_NUMBERS_HALF_H_
#define CGRAPH_RUNTIME_DEVICE_NUMBERS_HALF_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace cgraph::device {

constexpr float RoundToOdd(double x) {
  float f = static_cast<float>(x);
  uint32_t bits = std::bit_cast<uint32_t>(f);
  if (std::fabs(static_cast<double>(f)) > std::fabs(x)) --bits;  // toward zero
  if (static_cast<double>(std::bit_cast<float>(bits)) != x && x == x) bits |= 1;
  return std::bit_cast<float>(bits);
}

// Converts a number to the f32 that is then rounded to two bytes.
template <typename N>
constexpr float ToFloatOnce(N x) {
  if constexpr (std::is_same_v<N, float>) return x;
  else if constexpr (sizeof(N) < 4) return static_cast<float>(x);
  else return RoundToOdd(static_cast<double>(x));
}

struct F16 {
  uint16_t bits;

  F16() = default;
  template <typename N>
    requires std::is_arithmetic_v<N>
  explicit constexpr F16(N x) : bits(Round(ToFloatOnce(x))) {}

  constexpr operator float() const {
    const uint32_t rest = bits & 0x7fffu;
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
    const uint32_t special = rest >= 0x7c00u ? 0x38000000u : 0u;  // infinity and NaN
    const uint32_t normal = (rest << 13) + 0x38000000u + special;
    const float small = static_cast<float>(static_cast<int32_t>(rest)) * 0x1p-24f;
    return std::bit_cast<float>(sign | (rest < 0x400u ? std::bit_cast<uint32_t>(small) : normal));
  }
  static constexpr uint16_t Round(float x) {
    const uint32_t all = std::bit_cast<uint32_t>(x);
    const uint32_t rest = all & 0x7fffffffu;
    const uint32_t even = rest + 0xfffu + ((rest >> 13) & 1u);
    const uint32_t normal = (even - 0x38000000u) >> 13;
    // The sum's unit in the last place is the least f16: the addition rounds.
    const uint32_t small = std::bit_cast<uint32_t>(std::bit_cast<float>(rest) + 0.5f) - 0x3f000000u;
    uint32_t result = rest < 0x38800000u ? small : normal;
    result = rest >= 0x47800000u ? 0x7c00u : result;
    result = rest > 0x7f800000u ? 0x7e00u : result;
    return static_cast<uint16_t>(result | (all >> 16 & 0x8000u));
  }
};

struct BF16 {
  uint16_t bits;

  BF16() = default;
  template <typename N>
    requires std::is_arithmetic_v<N>
  explicit constexpr BF16(N x) : bits(Round(ToFloatOnce(x))) {}

  constexpr operator float() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
  static constexpr uint16_t Round(float x) {
    const uint32_t all = std::bit_cast<uint32_t>(x);
    const uint32_t even = all + 0x7fffu + (all >> 16 & 1u);
    return static_cast<uint16_t>((x != x ? all | 0x400000u : even) >> 16);
  }
};

template <typename T>
inline constexpr bool kIsHalf = std::is_same_v<T, F16> || std::is_same_v<T, BF16>;
template <typename T>
inline constexpr bool kIsFloat = std::is_floating_point_v<T> || kIsHalf<T>;
// The type in which elements of T are computed with.
template <typename T>
using Compute = std::conditional_t<kIsHalf<T>, float, T>;

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_NUMBERS_HALF_H_
