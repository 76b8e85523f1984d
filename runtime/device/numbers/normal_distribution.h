// erf, and the distribution function and the density of the standard normal distribution, in f32
// and f64.
//
// The lower tail is computed without cancellation, as a product: the bell curve exp(-z^2 / 2) times
// T(z), where T(z) is exp(z^2 / 2) times the distribution function of -z. T falls slowly from 1/2
// and is nearly a rational function with positive coefficients, whose sums are as exact as their
// terms. The coefficients were found by weighted least squares (Lawson's iteration), with relative
// errors 2^-27 and 2^-54; those of erf by Remez's algorithm, in f64 to 2^-56.
#ifndef CGRAPH_RUNTIME_DEVICE_NUMBERS_NORMAL_DISTRIBUTION_H_
#define CGRAPH_RUNTIME_DEVICE_NUMBERS_NORMAL_DISTRIBUTION_H_

#include "runtime/device/numbers/exponential.h"

namespace cgraph::device {

template <typename T>
struct NormalTail;
template <>
struct NormalTail<float> {
  static constexpr float kFar = 14.5f;  // from here on, bell times tail is 0
  CGRAPH_INLINE static constexpr float P(float x) {
    constexpr float c[] = {4.1240313e-3f, 4.0685231e-2f, 0.18338927f, 0.43850274f, 0.5f};
    return Polynomial(c, x);
  }
  CGRAPH_INLINE static constexpr float Q(float x) {
    constexpr float c[] = {1.03372955e-2f, 0.10198913f, 0.46987754f, 1.203143f, 1.674890458f, 1};
    return Polynomial(c, x);
  }
};
template <>
struct NormalTail<double> {
  static constexpr double kFar = 39;
  CGRAPH_INLINE static constexpr double P(double x) {
    constexpr double c[] = {1.3870488964435756913e-06, 3.7284543932142267376e-05,
                            0.00049075238706442894136, 0.0040916305202896323486,
                            0.023633326463012941566, 0.097734986121413605961,
                            0.28941189749827551685, 0.59415701344095597051, 0.77495016558051901858,
                            0.49999999999999997531};
    return Polynomial(c, x);
  }
  CGRAPH_INLINE static constexpr double Q(double x) {
    constexpr double c[] = {3.4768159821314251617e-06, 9.3458492024909461932e-05,
                            0.0012336106254385358697, 0.010349655232401953621,
                            0.060463144936469488496, 0.25505454773146899283, 0.78226275338022376629,
                            1.7147342878017136162, 2.5615753442664445555, 2.3477848919638935054, 1};
    return Polynomial(c, x);
  }
};

// T(z): exp(z * z / 2) times the distribution function of -z, for 0 <= z <= kFar.
template <typename T>
CGRAPH_INLINE constexpr T ScaledTail(T z) {
  return NormalTail<T>::P(z) / NormalTail<T>::Q(z);
}

// Returns exp(-scale * z * z), where z * z is not rounded and the result is a normal number.
template <typename T>
CGRAPH_INLINE constexpr T Bell(T z, T scale) {
  const T scaled = -scale * z, x = scaled * z, low = Fma(scaled, z, -x);
  const auto exp = PartsOfExp(x, Fma(x, Exponential<T>::kLog2E, kOnceBiased<T>), low);
  return Fma(exp.less_one, exp.power, exp.power);
}

// Takes z = |x|, or kFar where that is less or x is a NaN. Gives two factors of the distribution
// function of -z; `root` is the square root of exp(-z * z / 2). The factors are normal numbers even
// where their product is none.
template <typename T>
struct Tail { T z, root, rest; };
template <typename T>
CGRAPH_INLINE constexpr Tail<T> TailOf(T x) {
  const T z = NumberAtMost(std::fabs(x), NormalTail<T>::kFar);
  const T root = Bell(z, T(0.25));
  return {z, root, root * ScaledTail(z)};
}

// The distribution function (5.5 ulp) and the density (3.1 ulp) as long as they are normal numbers.
template <typename T>
struct Normal { T cdf, density; };
template <typename T>
CGRAPH_INLINE constexpr Normal<T> NormalOf(T x) {
  const Tail<T> tail = TailOf(x);
  const T share = tail.root * tail.rest, lower = x < 0 ? share : x;  // or a NaN
  return {x >= 0 ? T(1) - share : lower, T(0.39894228040143267794) * tail.root * tail.root};
}

// x times the distribution function, within 5.5 ulp as long as that is a normal number.
template <typename T>
CGRAPH_INLINE constexpr T GeluOf(T x) {
  const Tail<T> tail = TailOf(x);
  return Fma(-(tail.z * tail.rest), tail.root, x < 0 ? T(0) : x);
}

// erf(x), within 1.1 ulp: near 0 a polynomial, farther out 1 - erfc(|x|), in f64 by bell and tail,
// in f32 by a polynomial for the logarithm, which takes no division.
CGRAPH_INLINE constexpr float ErfOf(float x) {
  const float t = std::fabs(x), s = x * x;
  const float u = Fma(-3.88396438e-3f, t, 2.42546219e-2f);
  float r = Fma(Fma(-1.72853470e-5f, t, 3.83197126e-4f), s, u);  // r * t - t: log(1 - erf(t))
  r = Fma(r, t, -1.06777877e-1f);
  r = Fma(r, t, -6.34846687e-1f);
  r = Fma(r, t, -1.28717512e-1f);
  const float outer = CopySign(1.0f - ExpOf(Fma(r, t, -t)), x);
  constexpr float kP[] = {-5.96761703e-4f, 4.99119423e-3f,  -2.67681349e-2f,
                          1.12819925e-1f,  -3.76125336e-1f, 1.28379166e-1f};
  return t > 0.921875f ? outer : Fma(Polynomial(kP, s), x, x);
}
CGRAPH_INLINE constexpr double ErfOf(double x) {
  const double t = std::fabs(x);
  const double a = NumberAtMost(t, 7.0);  // where erf is 1 in f64
  const double outer = CopySign(1.0 - 2 * Bell(a, 1.0) * ScaledTail(a * 1.4142135623730951), x);
  constexpr double kP[] = {-7.77947147084308e-10, 1.3710981784571833e-08, -1.6206314020901686e-07,
                           1.6447131596542416e-06, -1.4924712303200864e-05, 0.0001205529357691112,
                           -0.0008548325929312908, 0.005223977606118397, -0.02686617064311145,
                           0.11283791670944185, -0.3761263890318352, 0.1283791670955126};
  return t > 1.0 ? outer : Fma(Polynomial(kP, x * x), x, x);
}

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_NUMBERS_NORMAL_DISTRIBUTION_H_
