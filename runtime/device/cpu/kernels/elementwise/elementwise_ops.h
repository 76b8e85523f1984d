// Operations of elementwise kernels, one element at a time. The semantics are NumPy's, made total:
// integers wrap around, an integer division by zero gives 0, nothing traps.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_OPS_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_OPS_H_

#include <cmath>
#include <limits>
#include <type_traits>

#include "runtime/device/numbers/exponential.h"
#include "runtime/device/numbers/half_functions.h"
#include "runtime/device/numbers/logarithm.h"
#include "runtime/device/numbers/normal_distribution.h"
#include "runtime/device/numbers/power.h"
#include "runtime/device/numbers/targets.h"
#include "runtime/device/numbers/trigonometry.h"

namespace cgraph::device {

// Arithmetic that wraps around is done in the unsigned type.
template <typename T, bool integer = std::is_integral_v<T>>
struct WrappingOf { using Type = T; };
template <typename T>
struct WrappingOf<T, true> { using Type = std::make_unsigned_t<T>; };
template <typename T>
using Wrapping = typename WrappingOf<T>::Type;

// kMoves: true where an operation computes so little that memory limits its speed when its operands
// lie in memory.
struct Add {
  static constexpr bool kMoves = true;
  template <typename T>
  static constexpr T Of(T a, T b) { return static_cast<T>(Wrapping<T>(a) + Wrapping<T>(b)); }
};
struct Subtract {
  static constexpr bool kMoves = true;
  template <typename T>
  static constexpr T Of(T a, T b) { return static_cast<T>(Wrapping<T>(a) - Wrapping<T>(b)); }
};
struct Multiply {
  static constexpr bool kMoves = true;
  template <typename T>
  static constexpr T Of(T a, T b) { return static_cast<T>(Wrapping<T>(a) * Wrapping<T>(b)); }
};
struct Negate {
  static constexpr bool kMoves = true;
  template <typename T>
  static constexpr T Of(T x) {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(Wrapping<T>(0) - Wrapping<T>(x));
    else return -x;
  }
};
struct Divide {
  template <typename T>
  static constexpr T Of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return 0;
      if (std::is_signed_v<T> && b == static_cast<T>(-1)) return Negate::Of(a);
      const T quotient = static_cast<T>(a / b);
      const bool down = a % b != 0 && (a < 0) != (b < 0);
      return static_cast<T>(quotient - down);
    } else {
      return a / b;
    }
  }
};
struct Modulo {
  template <typename T>
  static constexpr T Of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0 || (std::is_signed_v<T> && b == static_cast<T>(-1))) return 0;
      const T rest = static_cast<T>(a % b);
      return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
    } else {
      const T rest = std::fmod(a, b);
      if (b == 0) return rest;
      if (rest == 0) return std::copysign(T(0), b);
      return (rest < 0) != (b < 0) ? rest + b : rest;
    }
  }
};
// A NaN on either side is the result.
struct Minimum {
  static constexpr bool kMoves = true;
  template <typename T>
  static constexpr T Of(T a, T b) { return a <= b || a != a ? a : b; }
};
struct Maximum {
  static constexpr bool kMoves = true;
  template <typename T>
  static constexpr T Of(T a, T b) { return a >= b || a != a ? a : b; }
};
// Integers to a negative power are 0, but for 1 and -1.
struct Pow {
  template <typename T>
  CGRAPH_INLINE static constexpr T Of(T x, T exponent) {
    if constexpr (std::is_integral_v<T>) return IntegerPowerOf(x, exponent);
    else return PowerOf(x, exponent);
  }
};
struct LogicalAnd {
  template <typename T>
  static constexpr T Of(T a, T b) { return (a != 0) & (b != 0); }
};
struct LogicalOr {
  template <typename T>
  static constexpr T Of(T a, T b) { return (a != 0) | (b != 0); }
};

struct Equal {
  template <typename T>
  static constexpr bool Of(T a, T b) { return a == b; }
};
struct NotEqual {
  template <typename T>
  static constexpr bool Of(T a, T b) { return a != b; }
};
struct Less {
  template <typename T>
  static constexpr bool Of(T a, T b) { return a < b; }
};
struct LessEqual {
  template <typename T>
  static constexpr bool Of(T a, T b) { return a <= b; }
};
struct Greater {
  template <typename T>
  static constexpr bool Of(T a, T b) { return a > b; }
};
struct GreaterEqual {
  template <typename T>
  static constexpr bool Of(T a, T b) { return a >= b; }
};

struct Abs {
  static constexpr bool kMoves = true;
  template <typename T>
  static constexpr T Of(T x) {
    if constexpr (std::is_integral_v<T>) return x < 0 ? Negate::Of(x) : x;
    else return std::fabs(x);
  }
};
struct Square {
  static constexpr bool kMoves = true;
  template <typename T>
  static constexpr T Of(T x) { return Multiply::Of(x, x); }
};
struct Relu {
  static constexpr bool kMoves = true;
  template <typename T>
  static constexpr T Of(T x) { return x < 0 ? T(0) : x; }
};
struct Sqrt {
  template <typename T>
  static constexpr T Of(T x) { return std::sqrt(x); }
};
struct Rsqrt {
  template <typename T>
  static constexpr T Of(T x) { return T(1) / std::sqrt(x); }
};
// IsNear: of most arguments; OfNear: as Of, of those alone, without a branch, so that a loop over
// them is vectorised.
struct Sin {
  template <typename T>
  CGRAPH_INLINE static constexpr T Of(T x) { return SinOf(x); }
  template <typename T>
  CGRAPH_INLINE static constexpr bool IsNear(T x) { return IsNearAngle(x); }
  template <typename T>
  CGRAPH_INLINE static constexpr T OfNear(T x) { return SinOf<true>(x); }
};
struct Cos {
  template <typename T>
  CGRAPH_INLINE static constexpr T Of(T x) { return CosOf(x); }
  template <typename T>
  CGRAPH_INLINE static constexpr bool IsNear(T x) { return IsNearAngle(x); }
  template <typename T>
  CGRAPH_INLINE static constexpr T OfNear(T x) { return CosOf<true>(x); }
};

// OfHalf: for an f16 or bf16 argument, whose result is rounded to that dtype.
struct Exp {
  template <typename T>
  CGRAPH_INLINE static constexpr T Of(T x) { return ExpOf(x); }
  CGRAPH_INLINE static constexpr float OfHalf(float x) { return HalfExpOf(x); }
};
struct Log {
  template <typename T>
  CGRAPH_INLINE static constexpr T Of(T x) { return LogOf(x); }
};
struct Tanh {
  template <typename T>
  CGRAPH_INLINE static constexpr T Of(T x) { return TanhOf(x); }
  CGRAPH_INLINE static constexpr float OfHalf(float x) { return HalfTanhOf(x); }
};
struct Erf {
  template <typename T>
  CGRAPH_INLINE static constexpr T Of(T x) { return ErfOf(x); }
};
struct Sigmoid {
  template <typename T>
  CGRAPH_INLINE static constexpr T Of(T x) { return SigmoidOf(x); }
  CGRAPH_INLINE static constexpr float OfHalf(float x) { return HalfSigmoidOf(x); }
};
struct Silu {
  template <typename T>
  CGRAPH_INLINE static constexpr T Of(T x) { return SiluOf(x); }
  CGRAPH_INLINE static constexpr float OfHalf(float x) { return HalfSiluOf(x); }
};
struct Gelu {
  template <typename T>
  CGRAPH_INLINE static constexpr T Of(T x) { return GeluOf(x); }
  CGRAPH_INLINE static constexpr float OfHalf(float x) { return HalfGeluOf(x); }
};

// Gradients with respect to the argument of a function: computed from that argument z or the value
// y, and from the gradient of the value.
struct ReluGrad {
  static constexpr bool kMoves = true;
  template <typename T>
  static constexpr T Of(T z, T gy) { return z > 0 ? gy : T(0); }
};
struct GeluGrad {
  template <typename T>
  CGRAPH_INLINE static constexpr T Of(T z, T gy) {
    const Normal<T> normal = NormalOf(z);
    return gy * (normal.cdf + z * normal.density);
  }
};
struct SiluGrad {
  template <typename T>
  CGRAPH_INLINE static constexpr T Of(T z, T gy) {
    const T s = SigmoidOf(z);
    return gy * (s * (T(1) + z * (T(1) - s)));
  }
};
struct TanhGrad {
  template <typename T>
  static constexpr T Of(T y, T gy) { return gy * (T(1) - y * y); }
};
struct SigmoidGrad {
  template <typename T>
  static constexpr T Of(T y, T gy) { return gy * (y * (T(1) - y)); }
};

// An operation on one element as it is done for f16 and bf16. The result has the type that the
// operation gives: an integer of a cast may be no f32.
template <typename Operation>
struct OnHalf {
  CGRAPH_INLINE static constexpr auto Of(float x) {
    if constexpr (requires { Operation::OfHalf(x); }) return Operation::OfHalf(x);
    else return Operation::Of(x);
  }
  CGRAPH_INLINE static constexpr bool IsNear(float x)
    requires requires { Operation::IsNear(x); }
  {
    return Operation::IsNear(x);
  }
  CGRAPH_INLINE static constexpr float OfNear(float x)
    requires requires { Operation::OfNear(x); }
  {
    return Operation::OfNear(x);
  }
};

struct LogicalNot {
  template <typename T>
  static constexpr T Of(T x) { return x == 0; }
};

struct Select {
  template <typename T>
  static constexpr T Of(uint8_t condition, T a, T b) { return condition != 0 ? a : b; }
};

// The upper bound wins where it is the lesser one; a NaN in any operand is the result.
struct Clamp {
  static constexpr bool kMoves = true;
  template <typename T>
  static constexpr T Of(T x, T least, T most) { return Minimum::Of(Maximum::Of(x, least), most); }
};

// CastTo: what a cast makes of one number. It truncates. A cast to an integer saturates and makes 0
// of NaN, where C++ would be undefined.
template <typename To, typename From>
CGRAPH_INLINE constexpr To CastTo(From x) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (x != x) return 0;
    // 2^digits is exact in every float type; the greatest To may not be.
    const From limit = std::ldexp(From(1), std::numeric_limits<To>::digits);
    if (x >= limit) return std::numeric_limits<To>::max();
    if (x <= (std::is_signed_v<To> ? -limit : From(0))) return std::numeric_limits<To>::lowest();
  }
  return static_cast<To>(x);
}

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_OPS_H_
