// x to the power of y: exp(y ln |x|) with the sign that x and an odd y give, as IEEE 754 has it.
//
// A power magnifies the error of the logarithm by y ln |x|, which may be 745. In f32 both functions
// are taken in f64. In f64 the logarithm is a sum of two numbers: with s = (m - 1) / (m + 1) it is
// n ln 2 + 2 s + 2/3 s^3 + s^5 Q(s^2), where all but the last term have a rest of their own, and Q
// is the series, cut off at 2^-70 of the whole. Powers are within 1.5 ulp in f64, 0.51 in f32.
#ifndef CGRAPH_RUNTIME_DEVICE_NUMBERS_POWER_H_
#define CGRAPH_RUNTIME_DEVICE_NUMBERS_POWER_H_

#include "runtime/device/numbers/binary_format.h"
#include "runtime/device/numbers/exponential.h"
#include "runtime/device/numbers/logarithm.h"

namespace cgraph::device {

// ln x of a positive number, 0 or infinity for those.
CGRAPH_INLINE constexpr TwoNumbers LogInTwo(double x) {
  using Format = BinaryFormat<double>;
  using Bits = Format::Bits;
  constexpr int kUp = Format::kMantissaBits + 2;
  const bool tiny = x < std::numeric_limits<double>::min();
  const double scaled = tiny ? x * static_cast<double>(Bits{1} << kUp) : x;
  constexpr Bits kFirst = std::bit_cast<Bits>(0.70710678118654752440);
  const Bits above = BitsOf(scaled) + (std::bit_cast<Bits>(1.0) - kFirst);
  const Bits whole = std::bit_cast<Bits>(Format::kWhole) | (above >> Format::kMantissaBits);
  const double bias =
      Format::kWhole + static_cast<double>(Format::kBias) + (tiny ? double(kUp) : 0.0);
  const double n = FromBits<double>(whole) - bias;
  const double m = FromBits<double>((above & Format::kMantissa) + kFirst);

  const double f = m - 1.0;
  const TwoNumbers divisor = SumOfTwo(2.0, f);
  const double s = f / divisor.high;
  const double rest = Fma(-s, divisor.low, Fma(-s, divisor.high, f)) / divisor.high;  // of s
  const TwoNumbers z = ProductOfTwo(s, s);
  const TwoNumbers cube = ProductOfTwo(s, z.high);
  constexpr double kTwoThirds = 0.66666666666666663, kTwoThirdsRest = 3.700743415417188e-17;
  const TwoNumbers third = ProductOfTwo(kTwoThirds, cube.high);
  constexpr double kQ[] = {2.0 / 29, 2.0 / 27, 2.0 / 25, 2.0 / 23, 2.0 / 21, 2.0 / 19, 2.0 / 17,
                           2.0 / 15, 2.0 / 13, 2.0 / 11, 2.0 / 9,  2.0 / 7,  2.0 / 5};
  const double far = Polynomial(kQ, z.high) * z.high * cube.high;
  const double third_rest = third.low +
                            Fma(kTwoThirdsRest, cube.high, kTwoThirds * Fma(s, z.low, cube.low)) +
                            2.0 * z.high * rest;

  // n ln 2 with its first part exact: it has 32 bits.
  const double n_high = n * 0x1.62e42feep-1, n_low = n * 0x1.a39ef35793c76p-33;
  const TwoNumbers first = SumOfTwo(n_high, 2.0 * s);
  const TwoNumbers second = SumOfTwo(first.high, third.high);
  const double low = first.low + second.low + (n_low + (2.0 * rest + (third_rest + far)));
  const TwoNumbers sum = SumOfTwo(second.high, low);
  const bool finite = x > 0 && x <= std::numeric_limits<double>::max();
  return {finite ? sum.high : LogOf(x), finite ? sum.low : 0.0};
}

// exp(y ln x) of x that is not negative; the magnitude of a power.
CGRAPH_INLINE constexpr float PowerOfMagnitude(float x, float y) {
  return static_cast<float>(ExpOf(static_cast<double>(y) * LogOf(static_cast<double>(x))));
}
CGRAPH_INLINE constexpr double PowerOfMagnitude(double x, double y) {
  using Format = BinaryFormat<double>;
  using Constants = Exponential<double>;
  const TwoNumbers log = LogInTwo(x);
  const TwoNumbers product = ProductOfTwo(y, log.high);
  const double high = product.high;
  const double low = Fma(y, log.low, product.low);
  // As ExpOf, of a sum of two numbers.
  const double shifted = Fma(high, Constants::kLog2E, kTwiceBiased<double>);
  const double less_one = RestLessOne(high, shifted - kTwiceBiased<double>, low);
  const auto bits = BitsOf(shifted);
  const auto half = (bits << (Format::kMantissaBits - 1)) & Format::kExponentAndSign;
  const double down = FromBits<double>(half);
  const double up = FromBits<double>((bits << Format::kMantissaBits) - half);
  const double power = Fma(less_one, down, down) * up;
  const double bounded = high > Constants::kMost ? std::numeric_limits<double>::infinity() : power;
  const double least = high < Constants::kLeast ? 0.0 : bounded;
  return high == high ? least : high;
}

// Conditions are joined without branches, which would keep a loop from being vectorised.
template <typename T>
CGRAPH_INLINE constexpr T PowerOf(T x, T y) {
  const T magnitude = std::fabs(x);
  const T half = y * T(0.5);
  const bool whole = std::trunc(y) == y;
  const bool odd = whole & (std::trunc(half) != half);
  T power = PowerOfMagnitude(magnitude, y);
  power = magnitude == T(1) ? T(1) : power;  // also for an infinite y
  const auto sign = odd ? BitsOf(x) & BinaryFormat<T>::kSign : 0;
  power = FromBits<T>(BitsOf(power) | sign);
  // A negative number has no power that is not whole; 0 and infinity have.
  const bool none = (x < 0) & !whole & (magnitude <= std::numeric_limits<T>::max());
  power = none ? std::numeric_limits<T>::quiet_NaN() : power;
  power = y != y ? y : power;
  return (y == 0) | (x == T(1)) ? T(1) : power;
}

// By squaring; the product wraps around. Negative powers are those that an integer has, of 1 and
// -1; the others are 0, that of 0 as well.
template <typename T>
constexpr T IntegerPowerOf(T x, T exponent) {
  // Narrow types are promoted to int, which must not overflow.
  using Wide = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  const bool odd = exponent % 2 != 0;
  if (exponent < 0) {
    if (x == 1) return 1;
    return x == static_cast<T>(-1) ? static_cast<T>(odd ? -1 : 1) : static_cast<T>(0);
  }
  Wide power = 1, square = static_cast<Wide>(x);
  for (auto rest = static_cast<Wide>(exponent); rest != 0; rest >>= 1) {
    if ((rest & 1) != 0) power *= square;
    square *= square;
  }
  return static_cast<T>(power);
}

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_NUMBERS_POWER_H_
