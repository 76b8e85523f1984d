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
  static constexpr float kTanhIsOne = 9.1f, kAddsNothing = -80;  // exp of it, to 1
  CGRAPH_INLINE static constexpr float P(float x) {
    constexpr float c[] = {1.39504846e-3f, 8.36888887e-3f, 4.1666206e-2f, 1.66665182e-1f, 0.5f};
    return Polynomial(c, x);
  }
};
template <>
struct Exponential<double> {
  static constexpr double kLog2E = 1.4426950408889634, kLn2 = 0.69314718055994529,
                          kLn2Rest = 2.3190468138462996e-17;
  static constexpr double kLeast = -746, kMost = 710;
  static constexpr double kTanhIsOne = 19.1, kAddsNothing = -80;
  CGRAPH_INLINE static constexpr double P(double x) {
    constexpr double c[] = {2.5117856395534903e-08, 2.763128080269892e-07, 2.7557216319325095e-06,
                            2.4801489940789245e-05, 0.00019841269917358787, 0.0013888888947017426,
                            0.008333333333307217, 0.04166666666651541, 0.166666666666667,
                            0.5000000000000012};
    return Polynomial(c, x);
  }
};

// Added to a number, it leaves the nearest integer n in the low bits: n + 2 bias, n + bias.
template <typename T>
inline constexpr T kTwiceBiased =
    BinaryFormat<T>::kRound + static_cast<T>(2 * BinaryFormat<T>::kBias);
template <typename T>
inline constexpr T kOnceBiased = BinaryFormat<T>::kRound + static_cast<T>(BinaryFormat<T>::kBias);

// Computes exp(r) - 1, where r = x + low - n ln 2; `low` is a number less than a unit in the last
// place of x, or nothing.
template <typename T, typename... Low>
CGRAPH_INLINE constexpr T RestLessOne(T x, T n, Low... low) {
  using Constants = Exponential<T>;
  const T r = (Fma(n, -Constants::kLn2Rest, Fma(n, -Constants::kLn2, x)) + ... + low);
  return Fma(r * r, Constants::P(r), r);
}

// exp(x), within 1 ulp.
template <typename T>
CGRAPH_INLINE constexpr T ExpOf(T x) {
  using Format = BinaryFormat<T>;
  using Constants = Exponential<T>;
  const T shifted = Fma(x, Constants::kLog2E, kTwiceBiased<T>);
  const T less_one = RestLessOne(x, shifted - kTwiceBiased<T>);
  // 2^n is made as two powers, each a normal number even where the result is not: half of n,
  // rounded down and up, becomes their exponents.
  const auto bits = BitsOf(shifted);
  const auto half = (bits << (Format::kMantissaBits - 1)) & Format::kExponentAndSign;
  const T down = FromBits<T>(half), up = FromBits<T>((bits << Format::kMantissaBits) - half);
  const T y = Fma(less_one, down, down) * up;
  const T bounded = x > Constants::kMost ? std::numeric_limits<T>::infinity() : y;
  return x < Constants::kLeast ? T(0) : bounded;
}

// exp(x + low) = less_one * power + power, where 2^n is a normal number.
template <typename T>
struct ExpParts { T less_one, power; };
template <typename T, typename... Low>
CGRAPH_INLINE constexpr ExpParts<T> PartsOfExp(T x, T shifted, Low... low) {
  return {RestLessOne(x, shifted - kOnceBiased<T>, low...),
          FromBits<T>(BitsOf(shifted) << BinaryFormat<T>::kMantissaBits)};
}

// tanh(x) = (exp(2x) - 1) / (exp(2x) + 1), where exp(2x) - 1 is made without cancellation. Within
// 2.5 ulp.
template <typename T>
CGRAPH_INLINE constexpr T TanhOf(T x) {
  using Constants = Exponential<T>;
  const T a = AtMost(std::fabs(x), Constants::kTanhIsOne), twice = a + a;
  const auto exp = PartsOfExp(twice, Fma(twice, Constants::kLog2E, kOnceBiased<T>));
  const T e = Fma(exp.less_one, exp.power, exp.power - T(1));
  return CopySign(e / (e + T(2)), x);
}

// 1 + exp(-x). Where n is greater than the exponent of 2^n can be, the rest stays in r, and the
// result is infinite.
template <typename T>
CGRAPH_INLINE constexpr T OneAndExpOfMinus(T x) {
  constexpr T kMostShifted = kOnceBiased<T> + (std::numeric_limits<T>::max_exponent - 1);
  const T a = AtLeast(-x, Exponential<T>::kAddsNothing);
  const T shifted = Fma(a, Exponential<T>::kLog2E, kOnceBiased<T>);
  const auto exp = PartsOfExp(a, NumberAtMost(shifted, kMostShifted));
  return Fma(exp.less_one, exp.power, exp.power + T(1));
}

// The logistic function, within 2.3 ulp where it is a normal number; x times it, too.
template <typename T>
CGRAPH_INLINE constexpr T SigmoidOf(T x) { return T(1) / OneAndExpOfMinus(x); }
template <typename T>
CGRAPH_INLINE constexpr T SiluOf(T x) { return x / OneAndExpOfMinus(x); }

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_NUMBERS_EXPONENTIAL_H_
