// Random numbers, uniform and standard normal, with the same bits on every machine: element i is a
// function of (seed, i).
//
// The generator is SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
// generators", OOPSLA 2014) used as a counter: its i-th output needs no state, so elements can be
// made in any order. The seed is mixed once first, so that neighbouring seeds give unrelated
// streams. 52 bits make a uniform number in (0, 1), which becomes normal by the inverse of the
// normal distribution function in rational approximations (Wichura, "Algorithm AS 241: the
// percentage points of the normal distribution", PPND16, Applied Statistics 37, 1988; to 1e-16).
//
// All of it is + - * / and sqrt in f64, each rounded once as IEEE 754 prescribes; what includes
// this must be compiled without contraction (-ffp-contract=off). The one logarithm that the tails
// need is ours. tests/reference/normal.py says the same in NumPy.
#ifndef CGRAPH_RUNTIME_DEVICE_NUMBERS_NORMAL_NUMBERS_H_
#define CGRAPH_RUNTIME_DEVICE_NUMBERS_NORMAL_NUMBERS_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "runtime/device/numbers/half.h"

namespace cgraph::device {

constexpr uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
inline constexpr uint64_t kGolden = 0x9e3779b97f4a7c15u;

constexpr uint64_t RandomBits(uint64_t stream, int64_t i) {
  return Mix(stream + (static_cast<uint64_t>(i) + 1) * kGolden);
}

// Returns a number in (0, 1): the middle of one of 2^52 equal intervals, exact in f64.
constexpr double Uniform(uint64_t stream, int64_t i) {
  return static_cast<double>((RandomBits(stream, i) >> 12) * 2 + 1) * 0x1p-53;
}
// Returns a multiple of 2^-digits in [0, 1): exact in a dtype with so many digits, at most 53.
constexpr double UniformOf(int digits, uint64_t stream, int64_t i) {
  const auto whole = static_cast<double>(RandomBits(stream, i) >> (64 - digits));
  return whole / static_cast<double>(uint64_t{1} << digits);
}

// The natural logarithm of a positive normal number: x = m * 2^e with m in [sqrt(1/2), sqrt(2)),
// ln m = 2 artanh((m - 1) / (m + 1)) by its series.
constexpr double Ln(double x) {
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  double exponent = static_cast<double>(static_cast<int64_t>(bits >> 52) - 1023);
  double m = std::bit_cast<double>((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u);
  if (m > 1.4142135623730951) {
    m = m * 0.5;
    exponent = exponent + 1.0;
  }
  const double s = (m - 1.0) / (m + 1.0);
  const double s2 = s * s;
  double series = 0.0;
  for (int k = 21; k >= 1; k -= 2) series = series * s2 + 1.0 / k;
  return exponent * 0.6931471805599453 + 2.0 * s * series;
}

constexpr double Horner(const double (&c)[8], double x) {
  double sum = c[7];
  for (int i = 6; i >= 0; --i) sum = sum * x + c[i];
  return sum;
}

constexpr double NormalQuantile(double p) {
  constexpr double kA[8] = {3.3871328727963666080e0,  1.3314166789178437745e2,
                            1.9715909503065514427e3,  1.3731693765509461125e4,
                            4.5921953931549871457e4,  6.7265770927008700853e4,
                            3.3430575583588128105e4,  2.5090809287301226727e3};
  constexpr double kB[8] = {1.0,                      4.2313330701600911252e1,
                            6.8718700749205790830e2,  5.3941960214247511077e3,
                            2.1213794301586595867e4,  3.9307895800092710610e4,
                            2.8729085735721942674e4,  5.2264952788528545610e3};
  constexpr double kC[8] = {1.42343711074968357734e0, 4.63033784615654529590e0,
                            5.76949722146069140550e0, 3.64784832476320460504e0,
                            1.27045825245236838258e0, 2.41780725177450611770e-1,
                            2.27238449892691845833e-2, 7.74545014278341407640e-4};
  constexpr double kD[8] = {1.0,                      2.05319162663775882187e0,
                            1.67638483018380384940e0, 6.89767334985100004550e-1,
                            1.48103976427480074590e-1, 1.51986665636164571966e-2,
                            5.47593808499534494600e-4, 1.05075007164441684324e-9};
  constexpr double kE[8] = {6.65790464350110377720e0, 5.46378491116411436990e0,
                            1.78482653991729133580e0, 2.96560571828504891230e-1,
                            2.65321895265761230930e-2, 1.24266094738807843860e-3,
                            2.71155556874348757815e-5, 2.01033439929228813265e-7};
  constexpr double kF[8] = {1.0,                      5.99832206555887937690e-1,
                            1.36929880922735805310e-1, 1.48753612908506148525e-2,
                            7.86869131145613259100e-4, 1.84631831751005468180e-5,
                            1.42151175831644588870e-7, 2.04426310338993978564e-15};
  const double q = p - 0.5;
  if (std::fabs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * Horner(kA, r) / Horner(kB, r);
  }
  const double r = std::sqrt(-Ln(q < 0 ? p : 1.0 - p));
  const double tail = r <= 5.0 ? Horner(kC, r - 1.6) / Horner(kD, r - 1.6)
                               : Horner(kE, r - 5.0) / Horner(kF, r - 5.0);
  return q < 0 ? -tail : tail;
}

// Returns the stream of a seed, of which NormalNumber makes elements.
constexpr uint64_t StreamOf(int64_t seed) { return Mix(static_cast<uint64_t>(seed) + kGolden); }
constexpr double NormalNumber(uint64_t stream, int64_t i) {
  return NormalQuantile(Uniform(stream, i));
}

// kDigits: the binary digits of a float, whose multiples of 2^-digits in [0, 1) are exact.
template <typename T>
inline constexpr int kDigits = std::numeric_limits<T>::digits;
template <>
inline constexpr int kDigits<F16> = 11;
template <>
inline constexpr int kDigits<BF16> = 8;

// Kept: what dropout makes of an element.
struct Kept {
  double p, scale;  // the probability of 0; what other elements are multiplied by

  explicit constexpr Kept(double probability)
      : p(probability), scale(probability < 1 ? 1 / (1 - probability) : 0) {}
  template <typename C>
  constexpr C Of(C x, uint64_t stream, int64_t i) const {
    return Uniform(stream, i) >= p ? x * static_cast<C>(scale) : C(0);
  }
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_NUMBERS_NORMAL_NUMBERS_H_
