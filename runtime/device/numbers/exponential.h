// exp, and tanh and the logistic function made of it, in f32 and f64.
//
// x = n ln 2 + r with |r| <= ln 2 / 2, and exp(r) = 1 + r + r^2 P(r), where P is the polynomial of
// its degree that is nearest (found by Remez's algorithm, to 2^-28 and 2^-58). The errors stated
// are the greatest that numbers_test finds, in units in the last place of the result.
#ifndef CGRAPH_RUNTIME_DEVICE_NUMBERS_EXPONENTIAL_H_
#define CGRAPH_RUNTIME_DEVICE_NUMBERS_EXPONENTIAL_H_

#include "runtime/device/numbers/binary_format.h"

namespace cgraph::device {

template <typename T>
struct Exponential;
template <>
struct Exponential<float> {
  static constexpr float kLog2E = 1.44269504f, kLn2 = 0.693147182f, kLn2Rest = -1.90465430e-9f;
  static constexpr float kLeast = -104, kMost = 89;  // beyond: 0 and infinity
  static constexpr float kTanhIsOne = 9.1f;
  static constexpr float kP[] = {1.39504846e-3f, 8.36888887e-3f, 4.1666206e-2f, 1.66665182e-1f,
                                 0.5f};
};
template <>
struct Exponential<double> {
  static constexpr double kLog2E = 1.4426950408889634, kLn2 = 0.69314718055994529,
                          kLn2Rest = 2.3190468138462996e-17;
  static constexpr double kLeast = -746, kMost = 710;
  static constexpr double kTanhIsOne = 19.1;
  static constexpr double kP[] = {2.5117856395534903e-08, 2.763128080269892e-07,
                                  2.7557216319325095e-06, 2.4801489940789245e-05,
                                  0.00019841269917358787, 0.0013888888947017426,
                                  0.008333333333307217,   0.04166666666651541,
                                  0.166666666666667,      0.5000000000000012};
};

// exp(x + low) of x not far outside kLeast <= x <= kMost; `low` is a number less than a unit
// in the last place of x, or nothing.
template <typename T, typename... Low>
CGRAPH_INLINE T ExpWithin(T x, Low... low) {
  using Format = BinaryFormat<T>;
  using Constants = Exponential<T>;
  // The low bits of `shifted` are n + 2 bias.
  constexpr T kShift = Format::kRound + static_cast<T>(2 * Format::kBias);
  const T shifted = Fma(x, Constants::kLog2E, kShift), n = shifted - kShift;
  const T r = (Fma(n, -Constants::kLn2Rest, Fma(n, -Constants::kLn2, x)) + ... + low);
  const T p = Fma(Fma(Polynomial(Constants::kP, r), r, T(1)), r, T(1));
  // 2^n as two powers, each a normal number, also where the result is not: half of n, rounded down
  // and up, becomes their exponents.
  const auto bits = BitsOf(shifted);
  const auto down = (bits << (Format::kMantissaBits - 1)) & Format::kExponentAndSign;
  const auto up = (bits << Format::kMantissaBits) - down;
  return p * FromBits<T>(down) * FromBits<T>(up);
}

// 1 ulp.
template <typename T>
CGRAPH_INLINE T ExpOf(T x) {
  using Constants = Exponential<T>;
  const T y = ExpWithin(x);
  const T bounded = x > Constants::kMost ? std::numeric_limits<T>::infinity() : y;
  return x < Constants::kLeast ? T(0) : bounded;
}

// (exp(2x) - 1) / (exp(2x) + 1), where exp(2x) - 1 is made without cancellation. 2.5 ulp.
template <typename T>
CGRAPH_INLINE T TanhOf(T x) {
  using Format = BinaryFormat<T>;
  using Constants = Exponential<T>;
  const T a = AtMost(std::fabs(x), Constants::kTanhIsOne), twice = a + a;
  constexpr T kShift = Format::kRound + static_cast<T>(Format::kBias);
  const T shifted = Fma(twice, Constants::kLog2E, kShift), n = shifted - kShift;
  const T r = Fma(n, -Constants::kLn2Rest, Fma(n, -Constants::kLn2, twice));
  const T less_one = Fma(r * r, Polynomial(Constants::kP, r), r);  // exp(r) - 1
  const T power = FromBits<T>(BitsOf(shifted) << Format::kMantissaBits);
  const T e = Fma(power, less_one, power - T(1));
  return CopySign(e / (e + T(2)), x);
}

// 2.3 ulp where the result is a normal number, also of x times the logistic function.
template <typename T>
CGRAPH_INLINE T SigmoidOf(T x) { return T(1) / (T(1) + ExpOf(-x)); }
template <typename T>
CGRAPH_INLINE T SiluOf(T x) { return x / (T(1) + ExpOf(-x)); }

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_NUMBERS_EXPONENTIAL_H_
