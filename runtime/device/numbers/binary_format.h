// Building blocks of the functions of f32 and f64: the fields of a number's bits, and the fused
// multiply-add.
//
// The functions here and in exponential.h, logarithm.h and normal_distribution.h have no branches,
// tables or calls, so that loops of them vectorise; those of trigonometry.h have, for large angles.
// Where they fuse a product and a sum they call Fma, which rounds once on every machine; elsewhere
// the build forbids fusing, so every machine gives the same bits. A processor without the
// instruction (x86 before 2013) leaves Fma to the C library, which is many times slower.
//
// They are constexpr so that nvcc compiles them for GPUs, too. There, a function that reads an
// array which is a static member traps, so arrays of coefficients are local.
#ifndef CGRAPH_RUNTIME_DEVICE_NUMBERS_BINARY_FORMAT_H_
#define CGRAPH_RUNTIME_DEVICE_NUMBERS_BINARY_FORMAT_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "runtime/device/numbers/targets.h"

namespace cgraph::device {

CGRAPH_INLINE constexpr float Fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
CGRAPH_INLINE constexpr double Fma(double a, double b, double c) { return __builtin_fma(a, b, c); }

template <typename T>
struct BinaryFormat {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  static constexpr int kMantissaBits = std::numeric_limits<T>::digits - 1;
  static constexpr Bits kBias = std::numeric_limits<T>::max_exponent - 1;
  static constexpr Bits kMantissa = (Bits{1} << kMantissaBits) - 1;
  static constexpr Bits kSign = Bits{1} << (8 * sizeof(T) - 1);
  static constexpr Bits kExponentAndSign = ~kMantissa;
  // 1.5 * 2^kMantissaBits: adding it leaves the nearest integer, in the low bits.
  static constexpr T kRound = static_cast<T>(Bits{3} << (kMantissaBits - 1));
  // A number whose whole significand is the integer that is put into its low bits.
  static constexpr T kWhole = static_cast<T>(Bits{1} << kMantissaBits);
};

template <typename T>
CGRAPH_INLINE constexpr typename BinaryFormat<T>::Bits BitsOf(T x) {
  return std::bit_cast<typename BinaryFormat<T>::Bits>(x);
}
template <typename T>
CGRAPH_INLINE constexpr T FromBits(typename BinaryFormat<T>::Bits bits) {
  return std::bit_cast<T>(bits);
}

// Gives a magnitude that is not negative the sign of another number.
template <typename T>
CGRAPH_INLINE constexpr T CopySign(T magnitude, T sign) {
  return FromBits<T>(BitsOf(magnitude) | (BitsOf(sign) & BinaryFormat<T>::kSign));
}

// Return the lesser and the greater of two numbers; NaN when `x` is NaN.
template <typename T>
CGRAPH_INLINE constexpr T AtMost(T x, T limit) { return x > limit ? limit : x; }
template <typename T>
CGRAPH_INLINE constexpr T AtLeast(T x, T limit) { return x < limit ? limit : x; }

// Returns the lesser of two numbers that are not negative; the limit when `x` is NaN. It is one
// instruction, and a compiler does not compute what follows twice, with `x` and with the limit.
template <typename T>
CGRAPH_INLINE constexpr T NumberAtMost(T x, T limit) {
  using Bits = std::make_signed_t<typename BinaryFormat<T>::Bits>;
  return std::bit_cast<T>(std::min(std::bit_cast<Bits>(x), std::bit_cast<Bits>(limit)));
}

// Computes c[0] x^(count - 1) + ... + c[count - 1] by Estrin's scheme: pairs of terms are the
// coefficients of a polynomial in x^2. The depth matters because a vector waits for the sum before
// it, and few vectors are in work at once.
template <typename T, int count>
CGRAPH_INLINE constexpr T Polynomial(const T (&c)[count], T x) {
  if constexpr (count == 2) {
    return Fma(c[0], x, c[1]);
  } else if constexpr (count == 3) {
    return Fma(Fma(c[0], x, c[1]), x, c[2]);
  } else {
    constexpr int kOdd = count % 2, kPairs = (count + 1) / 2;
    T pairs[kPairs] = {c[0]};
    CGRAPH_UNROLL for (int i = kOdd; i < kPairs; ++i) {
      pairs[i] = Fma(c[2 * i - kOdd], x, c[2 * i - kOdd + 1]);
    }
    return Polynomial(pairs, x * x);
  }
}

// A number as the sum of two, for what 53 bits do not hold: a product, a reduced argument.
// The second is less than a unit in the last place of the first.
struct TwoNumbers {
  double high, low;
};
CGRAPH_INLINE constexpr TwoNumbers SumOfTwo(double a, double b) {  // Knuth's, for any a and b
  const double sum = a + b, part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}
CGRAPH_INLINE constexpr TwoNumbers ProductOfTwo(double a, double b) {
  const double product = a * b;
  return {product, Fma(a, b, -product)};
}

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_NUMBERS_BINARY_FORMAT_H_
