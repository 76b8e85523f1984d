// erf, and the distribution function and the density of the standard normal distribution, in f32
// and f64.
//
// The lower tail has no cancellation: (1 + 2a) exp(a^2) erfc(a), a function between 1 and 1.3, is a
// polynomial in (a - K) / (a + K) (Shepherd and Laframboise, "Chebyshev approximation of
// (1 + 2x) exp(x^2) erfc x in 0 <= x < infinity", Mathematics of Computation 36, 1981). The
// coefficients of f32 are Juffa's (2016); those of f64, of the tail and of erf, were found by
// Remez's algorithm, to 2^-56.
#ifndef CGRAPH_RUNTIME_DEVICE_NUMBERS_NORMAL_DISTRIBUTION_H_
#define CGRAPH_RUNTIME_DEVICE_NUMBERS_NORMAL_DISTRIBUTION_H_

#include "runtime/device/numbers/exponential.h"

namespace cgraph::device {

template <typename T>
struct NormalTail;
template <>
struct NormalTail<float> {
  static constexpr float kCenter = 2, kFar = 30;
  static constexpr float kBellIsZero = 208;  // at this square
  static constexpr float kP[] = {5.92470169e-5f,  1.61224554e-4f,  -3.46481771e-4f,
                                 -1.39681227e-3f, 1.20588380e-3f,  8.69014394e-3f,
                                 -8.01387429e-3f, -5.42122945e-2f, 1.64048523e-1f,
                                 -1.66031078e-1f, -9.27637145e-2f, 2.76978403e-1f};
};
template <>
struct NormalTail<double> {
  static constexpr double kCenter = 4, kFar = 28;
  static constexpr double kBellIsZero = 1492;
  static constexpr double kP[] = {
      -1.7176194933564778e-09, -1.3386263773469488e-08, -7.778921184146107e-09,
      1.145613140109557e-07,   6.238915280996884e-08,   -8.34240409532116e-07,
      3.0195637239169965e-07,  5.717295250773151e-06,   -1.122528304667576e-05,
      -2.4402941507974165e-05, 0.00015062247158433698,  -0.00019925556126392955,
      -0.0007577734048666354,  0.00503196976356954,     -0.016197734048423645,
      0.037167515561852396,    -0.06633036581256395,    0.09373283499682385,
      -0.10103906603630115,    0.0680970542547366,      0.015379652102619764,
      -0.1396211168405629,     0.2329951186255525};
};

// exp(a * a) erfc(a) of a >= 0, with one division.
template <typename T>
CGRAPH_INLINE T ScaledErfc(T a) {
  using Tail = NormalTail<T>;
  const T near = AtMost(a, Tail::kFar);
  const T above = near + Tail::kCenter, twice = Fma(T(2), near, T(1));
  const T inverse = T(1) / (above * twice);
  const T from_center = near - Tail::kCenter, one_above = twice * inverse;
  const T nearly = from_center * one_above;
  const T q = Fma(Fma(-nearly, above, from_center), one_above, nearly);
  return (T(1) + Polynomial(Tail::kP, q)) * (above * inverse);
}

// exp(-scale * z * z), where z * z is not rounded.
template <typename T>
CGRAPH_INLINE T Bell(T z, T scale) {
  const T square = z * z, rest = Fma(z, z, -square);
  return ExpOf(-scale * square, square < NormalTail<T>::kBellIsZero ? -scale * rest : T(0));
}

// The distribution function (5 ulp, also in the lower tail as long as it is a normal number) and
// the density.
template <typename T>
struct Normal { T cdf, density; };
template <typename T>
CGRAPH_INLINE Normal<T> NormalOf(T z) {
  const T x = z * T(0.70710678118654752440), bell = Bell(z, T(0.5));
  const T tail = T(0.5) * bell * ScaledErfc(std::fabs(x));
  return {x < 0 ? tail : T(1) - tail, T(0.39894228040143267794) * bell};
}

// 1.1 ulp.
CGRAPH_INLINE float ErfOf(float x) {
  const float t = std::fabs(x), s = x * x;
  const float u = Fma(-3.88396438e-3f, t, 2.42546219e-2f);
  float r = Fma(Fma(-1.72853470e-5f, t, 3.83197126e-4f), s, u);  // to log(1 - erf(t))
  r = Fma(r, t, -1.06777877e-1f);
  r = Fma(r, t, -6.34846687e-1f);
  r = Fma(r, t, -1.28717512e-1f);
  const float outer = CopySign(1.0f - ExpOf(Fma(r, t, -t)), x);
  constexpr float kP[] = {-5.96761703e-4f, 4.99119423e-3f,  -2.67681349e-2f,
                          1.12819925e-1f,  -3.76125336e-1f, 1.28379166e-1f};
  return t > 0.921875f ? outer : Fma(Polynomial(kP, s), x, x);
}
CGRAPH_INLINE double ErfOf(double x) {
  const double t = std::fabs(x);
  const double outer = CopySign(1.0 - Bell(t, 1.0) * ScaledErfc(t), x);
  constexpr double kP[] = {-7.77947147084308e-10, 1.3710981784571833e-08, -1.6206314020901686e-07,
                           1.6447131596542416e-06, -1.4924712303200864e-05, 0.0001205529357691112,
                           -0.0008548325929312908, 0.005223977606118397, -0.02686617064311145,
                           0.11283791670944185, -0.3761263890318352, 0.1283791670955126};
  return t > 1.0 ? outer : Fma(Polynomial(kP, x * x), x, x);
}

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_NUMBERS_NORMAL_DISTRIBUTION_H_
