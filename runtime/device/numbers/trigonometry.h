// sin and cos in f32 and f64: x = n pi/2 + r with |r| <= pi/4, and sin r or cos r, as n modulo 4
// says, by fdlibm's polynomials (Sun Microsystems, 1993), as published. In f64, r is the sum of two
// numbers, and results are within 0.8 ulp. f32 is computed in f64, by the shorter polynomials of
// FreeBSD's msun, within 0.51 ulp.
#ifndef CGRAPH_RUNTIME_DEVICE_NUMBERS_TRIGONOMETRY_H_
#define CGRAPH_RUNTIME_DEVICE_NUMBERS_TRIGONOMETRY_H_

#include "runtime/device/numbers/binary_format.h"

namespace cgraph::device {

// x less the nearest multiple of pi/2, and which multiple it is, modulo 4.
struct ReducedAngle {
  TwoNumbers rest;
  uint32_t quarters;
};

// pi/2 is the sum of three numbers, the first two of 53 bits.
inline constexpr double kQuarter = 0x1.921fb54442d18p+0, kQuarterRest = 0x1.1a62633145c07p-54,
                        kQuarterSecondRest = -0x1.f1976b7ed8fbcp-110;

// Of x in [0, 2^26]: n has 26 bits, so x - n kQuarter is exact (Cody and Waite, 1980). A result of
// 24 bits takes a rest of one number.
inline constexpr double kMostReducedBySubtraction = 0x1p26;
template <typename T>
CGRAPH_INLINE constexpr ReducedAngle ReduceBySubtraction(double x) {
  constexpr double kRound = BinaryFormat<double>::kRound;
  const double shifted = Fma(x, 0x1.45f306dc9c883p-1, kRound);  // x 2/pi
  const double n = shifted - kRound;
  const auto quarters = static_cast<uint32_t>(BitsOf(shifted)) & 3;
  const double rest = Fma(n, -kQuarter, x);
  if constexpr (sizeof(T) == 4) return {{Fma(n, -kQuarterRest, rest), 0.0}, quarters};
  const TwoNumbers second = ProductOfTwo(n, kQuarterRest);
  const TwoNumbers sum = SumOfTwo(rest, -second.high);
  const double low = Fma(-n, kQuarterSecondRest, sum.low - second.low);
  return {{sum.high, low}, quarters};
}

// Returns the upper half of the product of two words.
CGRAPH_INLINE constexpr uint64_t HighProduct(uint64_t a, uint64_t b) {
  constexpr uint64_t kLow = 0xffffffff;
  const uint64_t middle = (a >> 32) * (b & kLow) + (((a & kLow) * (b & kLow)) >> 32);
  const uint64_t other = (a & kLow) * (b >> 32) + (middle & kLow);
  return (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);
}

// 192 bits, the lowest word first.
struct ThreeWords {
  uint64_t words[3];
};

// Returns the 192 bits of 2/pi from that bit on whose product with 2^exponent has the weight 2, for
// an exponent of at least -62 and at most 972. Greater bits add multiples of 4 to whole numbers.
constexpr ThreeWords BitsOfTwoOverPi(int exponent) {
  // A word of zeros, and the first 1216 bits of 2/pi.
  constexpr uint64_t kBits[] = {0,
                                0xa2f9836e4e441529,
                                0xfc2757d1f534ddc0,
                                0xdb6295993c439041,
                                0xfe5163abdebbc561,
                                0xb7246e3a424dd2e0,
                                0x06492eea09d1921c,
                                0xfe1deb1cb129a73e,
                                0xe88235f52ebb4484,
                                0xe99c7026b45f7e41,
                                0x3991d639835339f4,
                                0x9c845f8bbdf9283b,
                                0x1ff897ffde05980f,
                                0xef2f118b5a0a6d1f,
                                0x6d367ecf27cb09b7,
                                0x4f463f669e5fea2d,
                                0x7527bac7ebe5f17b,
                                0x3d0739f78a5292ea,
                                0x6bfb5fb11f8d5d08,
                                0x56033046fc7b6bab};
  const int first = exponent + 62;
  const int word = first / 64, shift = first % 64;
  ThreeWords bits = {};
  for (int i = 0; i < 3; ++i) {
    const uint64_t upper = kBits[word + i] << shift;
    bits.words[2 - i] = shift == 0 ? upper : upper | (kBits[word + i + 1] >> (64 - shift));
  }
  return bits;
}

// Of any greater x: its product with 192 bits of 2/pi, modulo 4, in integers (Payne and Hanek,
// 1983). No f64 is nearer to a multiple of pi/2 than 2^-62, so some 70 bits of the rest are right.
constexpr ReducedAngle ReduceByProduct(double x) {
  using Format = BinaryFormat<double>;
  const uint64_t bits = BitsOf(x);
  const uint64_t whole = (bits & Format::kMantissa) | (Format::kMantissa + 1);
  const int exponent = static_cast<int>(bits >> Format::kMantissaBits) - 1075;
  const ThreeWords part = BitsOfTwoOverPi(exponent);
  // The product modulo 2^192; its top two bits are whole quarters.
  uint64_t low = whole * part.words[0];
  uint64_t middle = whole * part.words[1], high = whole * part.words[2];
  const uint64_t carried = HighProduct(whole, part.words[0]);
  middle += carried;
  high += HighProduct(whole, part.words[1]) + (middle < carried ? 1 : 0);

  const uint64_t quarters = (high + (uint64_t{1} << 61)) >> 62;  // to the nearest
  high -= quarters << 62;
  const bool negative = (high >> 63) != 0;
  if (negative) {
    low = ~low + 1;
    middle = ~middle + (low == 0 ? 1 : 0);
    high = ~high + (low == 0 && middle == 0 ? 1 : 0);
  }
  // As numbers, 32 bits each, since the first may be 0.
  constexpr uint64_t kLow = 0xffffffff;
  const TwoNumbers first = SumOfTwo(static_cast<double>(high >> 32) * 0x1p-30,
                                    static_cast<double>(high & kLow) * 0x1p-62);
  const TwoNumbers second = SumOfTwo(first.low, static_cast<double>(middle >> 32) * 0x1p-94);
  const TwoNumbers sum = SumOfTwo(first.high, second.high);
  const double far =
      static_cast<double>(middle & kLow) * 0x1p-126 + static_cast<double>(low >> 32) * 0x1p-158;
  const TwoNumbers rest = SumOfTwo(sum.high, sum.low + (second.low + far));

  const TwoNumbers product = ProductOfTwo(rest.high, kQuarter);
  const TwoNumbers angle =
      SumOfTwo(product.high, Fma(rest.high, kQuarterRest, Fma(rest.low, kQuarter, product.low)));
  const double sign = negative ? -1.0 : 1.0;
  return {{sign * angle.high, sign * angle.low}, static_cast<uint32_t>(quarters) & 3};
}

CGRAPH_INLINE constexpr double SinOfRest(TwoNumbers r) {
  constexpr double kS[] = {1.58969099521155010221e-10, -2.50507602534068634195e-08,
                           2.75573137070700676789e-06, -1.98412698298579493134e-04,
                           8.33333333332248946124e-03};
  constexpr double kS1 = -1.66666666666666324348e-01;
  const double z = r.high * r.high, cube = z * r.high;
  const double far = Fma(z, Fma(cube, Polynomial(kS, z), -0.5 * r.low), r.low);
  return r.high + Fma(cube, kS1, far);
}
CGRAPH_INLINE constexpr double CosOfRest(TwoNumbers r) {
  constexpr double kC[] = {-1.13596475577881948265e-11, 2.08757232129817482790e-09,
                           -2.75573143513906633035e-07, 2.48015872894767294178e-05,
                           -1.38888888888741095749e-03, 4.16666666666666019037e-02};
  const double z = r.high * r.high, half = 0.5 * z, one_less_half = 1.0 - half;
  const double far = Fma(z * z, Polynomial(kC, z), -r.high * r.low);
  return one_less_half + (((1.0 - one_less_half) - half) + far);
}

// A rest of one number, for a result of 24 bits.
CGRAPH_INLINE constexpr double SinOfRest(double r) {
  constexpr double kS[] = {0x1.6cd878c3b46a7p-19, -0x1.a00f9e2cae774p-13, 0x1.11110896efbb2p-7,
                           -0x1.5555554cbac77p-3};
  const double z = r * r;
  return Fma(z * r, Polynomial(kS, z), r);
}
CGRAPH_INLINE constexpr double CosOfRest(double r) {
  constexpr double kC[] = {0x1.99342e0ee5069p-16, -0x1.6c087e80f1e27p-10, 0x1.55553e1053a42p-5,
                           -0x1.ffffffd0c5e81p-2, 1.0};
  return Polynomial(kC, r * r);
}

// The rest that a result of T takes.
template <typename T>
using AngleRest = std::conditional_t<sizeof(T) == 8, TwoNumbers, double>;
template <typename T>
CGRAPH_INLINE constexpr AngleRest<T> RestOf(TwoNumbers rest) {
  if constexpr (sizeof(T) == 8)
    return rest;
  else
    return rest.high + rest.low;
}

// Returns whether an angle of x is reduced by subtraction, without a branch; NaN is one of them.
template <typename T>
CGRAPH_INLINE constexpr bool IsNearAngle(T x) {
  return !(std::fabs(x) > static_cast<T>(kMostReducedBySubtraction));
}

// Returns sin(x + shift pi/2), `x` not negative; NaN for infinity. `near`: x IsNearAngle.
template <typename T, bool near>
CGRAPH_INLINE constexpr T SinOfShifted(double x, uint32_t shift) {
  const ReducedAngle angle =
      near || IsNearAngle(x) ? ReduceBySubtraction<T>(x) : ReduceByProduct(x);
  const AngleRest<T> rest = RestOf<T>(angle.rest);
  const uint32_t quarters = angle.quarters + shift;
  const double y = (quarters & 1) != 0 ? CosOfRest(rest) : SinOfRest(rest);
  return static_cast<T>(((quarters & 2) != 0 ? -y : y) + (x - x));
}

template <bool near = false, typename T>
CGRAPH_INLINE constexpr T SinOf(T x) {
  const T y = SinOfShifted<T, near>(std::fabs(x), 0);
  return FromBits<T>(BitsOf(y) ^ (BitsOf(x) & BinaryFormat<T>::kSign));
}
template <bool near = false, typename T>
CGRAPH_INLINE constexpr T CosOf(T x) {
  return SinOfShifted<T, near>(std::fabs(x), 1);
}

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_NUMBERS_TRIGONOMETRY_H_
