// The natural logarithm in f32 and f64: x = m 2^n with m in [sqrt(1/2), sqrt(2)).
//
// ln m is Cephes's polynomial in f32 (Moshier, 1989), and in f64 fdlibm's in s = (m - 1) / (m + 1)
// (Sun Microsystems, 1993), both as published.
#ifndef CGRAPH_RUNTIME_DEVICE_NUMBERS_LOGARITHM_H_
#define CGRAPH_RUNTIME_DEVICE_NUMBERS_LOGARITHM_H_

#include "runtime/device/numbers/binary_format.h"

namespace cgraph::device {

// Returns n ln 2 + ln(1 + f).
CGRAPH_INLINE constexpr float LogOfParts(float n, float f) {
  constexpr float kP[] = {7.0376836292e-2f,  -1.1514610310e-1f, 1.1676998740e-1f,
                          -1.2420140846e-1f, 1.4249322787e-1f,  -1.6668057665e-1f,
                          2.0000714765e-1f,  -2.4999993993e-1f, 3.3333331174e-1f};
  const float z = f * f;
  const float y = Fma(-0.5f, z, Fma(n, -2.12194440e-4f, Polynomial(kP, f) * f * z));
  return Fma(n, 0.693359375f, f + y);
}
CGRAPH_INLINE constexpr double LogOfParts(double n, double f) {
  constexpr double kP[] = {1.479819860511658591e-01, 1.531383769920937332e-01,
                           1.818357216161805012e-01, 2.222219843214978396e-01,
                           2.857142874366239149e-01, 3.999999999940941908e-01,
                           6.666666666666735130e-01};
  const double s = f / (2.0 + f), z = s * s, half_square = 0.5 * f * f;
  const double rest = Polynomial(kP, z) * z;
  const double low = Fma(s, half_square + rest, n * 1.90821492927058770002e-10);
  return Fma(n, 6.93147180369123816490e-01, f - (half_square - low));
}

// ln(x), within 1 ulp.
template <typename T>
CGRAPH_INLINE constexpr T LogOf(T x) {
  using Format = BinaryFormat<T>;
  using Bits = typename Format::Bits;
  constexpr int kUp = Format::kMantissaBits + 2;
  const bool tiny = x < std::numeric_limits<T>::min();
  const T scaled = tiny ? x * static_cast<T>(Bits{1} << kUp) : x;
  constexpr T kSqrtHalf = static_cast<T>(0.70710678118654752440L);
  constexpr Bits kFirst = std::bit_cast<Bits>(kSqrtHalf), kOne = std::bit_cast<Bits>(T(1));
  // The integer n + bias is made a number without a conversion, which AVX2 lacks for 64 bits.
  const Bits above = BitsOf(scaled) + (kOne - kFirst);
  const Bits whole = std::bit_cast<Bits>(Format::kWhole) | (above >> Format::kMantissaBits);
  const T bias = Format::kWhole + static_cast<T>(Format::kBias) + (tiny ? T(kUp) : T(0));
  const T n = FromBits<T>(whole) - bias;
  const T m = FromBits<T>((above & Format::kMantissa) + kFirst);
  T y = LogOfParts(n, m - T(1));
  y = x > std::numeric_limits<T>::max() ? x : y;  // infinity
  y = x == 0 ? -std::numeric_limits<T>::infinity() : y;
  y = x < 0 ? std::numeric_limits<T>::quiet_NaN() : y;
  // Not one comparison with what is negative: of a magnitude, ptxas of CUDA 13.0 takes x >= 0 to be
  // true even where it is NaN.
  return x != x ? x : y;
}

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_NUMBERS_LOGARITHM_H_
