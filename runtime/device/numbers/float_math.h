// exp, log, tanh, erf and what is made of them, in f32: without branches, tables and calls, so that
// loops of them vectorise, and without fused multiply-add, so that every machine gives the same
// bits. The errors stated are the greatest found among four million arguments over the whole range,
// in units in the last place of the result. f64 is left to the C library.
//
// exp and log reduce their argument as Cephes does (Moshier, 1989) and use its polynomials; erf and
// erfc use Juffa's (2016), so that the lower tail of the normal distribution has no cancellation.
#ifndef CGRAPH_RUNTIME_DEVICE_NUMBERS_FLOAT_MATH_H_
#define CGRAPH_RUNTIME_DEVICE_NUMBERS_FLOAT_MATH_H_

#include <bit>
#include <cmath>
#include <cstdint>

namespace cgraph::device {

#define CGRAPH_INLINE [[gnu::always_inline]] inline

// 2^n for n in [-126, 127].
CGRAPH_INLINE float PowerOfTwo(int32_t n) {
  return std::bit_cast<float>(static_cast<uint32_t>(n + 127) << 23);
}
CGRAPH_INLINE float CopySign(float magnitude, float sign) {
  return std::bit_cast<float>((std::bit_cast<uint32_t>(magnitude) & 0x7fffffffu) |
                              (std::bit_cast<uint32_t>(sign) & 0x80000000u));
}

// exp(high + low) where `low` is less than a unit in the last place of `high`. 1 ulp.
CGRAPH_INLINE float ExpFloat(float high, float low = 0) {
  float x = high < -104.0f ? -104.0f : high;
  x = x > 89.0f ? 89.0f : x;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it leaves the nearest integer
  const float n = (x * 1.44269504f + kRound) - kRound;
  const float r = ((x - n * 0.693359375f) - n * -2.12194440e-4f) + low;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = (p * r) * r + r + 1.0f;
  // In two steps, of which each is a normal number; also where the result is not.
  const int32_t whole = static_cast<int32_t>(n == n ? n : 0.0f);
  const int32_t half = whole >> 1;
  return p * PowerOfTwo(half) * PowerOfTwo(whole - half);
}

// 0.8 ulp.
CGRAPH_INLINE float LogFloat(float x) {
  const bool tiny = x < 0x1p-126f;
  const float scaled = tiny ? x * 0x1p25f : x;
  const uint32_t bits = std::bit_cast<uint32_t>(scaled);
  // m in [sqrt(1/2), sqrt(2)), scaled = m * 2^e.
  const uint32_t above = bits - 0x3f3504f3u;
  const int32_t e = (static_cast<int32_t>(above) >> 23) - (tiny ? 25 : 0);
  const float m = std::bit_cast<float>((above & 0x007fffffu) + 0x3f3504f3u);
  const float f = m - 1.0f, z = f * f, n = static_cast<float>(e);
  float p = 7.0376836292e-2f;
  p = p * f - 1.1514610310e-1f;
  p = p * f + 1.1676998740e-1f;
  p = p * f - 1.2420140846e-1f;
  p = p * f + 1.4249322787e-1f;
  p = p * f - 1.6668057665e-1f;
  p = p * f + 2.0000714765e-1f;
  p = p * f - 2.4999993993e-1f;
  p = p * f + 3.3333331174e-1f;
  float y = p * f * z + n * -2.12194440e-4f - 0.5f * z;
  y = (f + y) + n * 0.693359375f;
  y = x > 3.4028235e38f ? x : y;  // infinity
  y = x == 0 ? -INFINITY : y;
  return x >= 0 ? y : NAN;
}

// 1.3 ulp.
CGRAPH_INLINE float TanhFloat(float x) {
  const float a = std::fabs(x), s = x * x;
  float p = -5.70498872745e-3f;
  p = p * s + 2.06390887954e-2f;
  p = p * s - 5.37397155531e-2f;
  p = p * s + 1.33314422036e-1f;
  p = p * s - 3.33332819422e-1f;
  const float small = p * s * x + x;
  const float large = 1.0f - 2.0f / (ExpFloat(a + a) + 1.0f);
  return CopySign(a < 0.625f ? small : large, x);
}

// 2.3 ulp where the result is a normal number.
CGRAPH_INLINE float SigmoidFloat(float x) { return 1.0f / (1.0f + ExpFloat(-x)); }

// 1.1 ulp.
CGRAPH_INLINE float ErfFloat(float x) {
  const float t = std::fabs(x), s = x * x;
  float r = -1.72853470e-5f * t + 3.83197126e-4f;  // log(1 - erf(t))
  const float u = -3.88396438e-3f * t + 2.42546219e-2f;
  r = r * s + u;
  r = r * t - 1.06777877e-1f;
  r = r * t - 6.34846687e-1f;
  r = r * t - 1.28717512e-1f;
  const float outer = CopySign(1.0f - ExpFloat(r * t - t), x);
  float p = -5.96761703e-4f;
  p = p * s + 4.99119423e-3f;
  p = p * s - 2.67681349e-2f;
  p = p * s + 1.12819925e-1f;
  p = p * s - 3.76125336e-1f;
  p = p * s + 1.28379166e-1f;
  return t > 0.921875f ? outer : p * x + x;
}

// exp(-z * z / 2), where z * z is not rounded: its low part is exact by Dekker's product.
CGRAPH_INLINE float Bell(float z) {
  const float high = std::bit_cast<float>(std::bit_cast<uint32_t>(z) & 0xfffff000u);
  const float low = z - high, square = z * z;
  const float rest = ((high * high - square) + 2.0f * high * low) + low * low;
  return ExpFloat(-0.5f * square, square < 208.0f ? -0.5f * rest : 0.0f);
}

// The distribution function of the standard normal distribution (4 ulp, also in the lower tail as
// long as it is a normal number) and its density.
template <typename T>
struct Normal { T cdf, density; };
CGRAPH_INLINE Normal<float> NormalFloat(float z) {
  const float x = z * 0.70710678f, t = std::fabs(x);
  const float a = t > 30.0f ? 30.0f : t;
  const float q = (a - 2.0f) / (a + 2.0f);
  float p = 5.92470169e-5f;  // (1 + 2 a) exp(a a) erfc(a) - 1
  p = p * q + 1.61224554e-4f;
  p = p * q - 3.46481771e-4f;
  p = p * q - 1.39681227e-3f;
  p = p * q + 1.20588380e-3f;
  p = p * q + 8.69014394e-3f;
  p = p * q - 8.01387429e-3f;
  p = p * q - 5.42122945e-2f;
  p = p * q + 1.64048523e-1f;
  p = p * q - 1.66031078e-1f;
  p = p * q - 9.27637145e-2f;
  p = p * q + 2.76978403e-1f;
  const float bell = Bell(z);
  const float tail = bell * (0.5f * ((1.0f + p) / (1.0f + 2.0f * a)));
  return {x < 0 ? tail : 1.0f - tail, 0.39894228f * bell};
}

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_NUMBERS_FLOAT_MATH_H_
