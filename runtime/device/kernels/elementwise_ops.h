// What elementwise kernels compute, one element at a time. The semantics are NumPy's, made total:
// integers wrap around, a division by zero of integers is 0, nothing traps.
#ifndef CGRAPH_RUNTIME_DEVICE_KERNELS_ELEMENTWISE_OPS_H_
#define CGRAPH_RUNTIME_DEVICE_KERNELS_ELEMENTWISE_OPS_H_

#include <cmath>
#include <type_traits>

namespace cgraph::device {

// Arithmetic that wraps around goes through the unsigned type.
template <typename T, bool integer = std::is_integral_v<T>>
struct WrappingOf { using Type = T; };
template <typename T>
struct WrappingOf<T, true> { using Type = std::make_unsigned_t<T>; };
template <typename T>
using Wrapping = typename WrappingOf<T>::Type;

struct Add {
  template <typename T>
  static T Of(T a, T b) { return static_cast<T>(Wrapping<T>(a) + Wrapping<T>(b)); }
};
struct Subtract {
  template <typename T>
  static T Of(T a, T b) { return static_cast<T>(Wrapping<T>(a) - Wrapping<T>(b)); }
};
struct Multiply {
  template <typename T>
  static T Of(T a, T b) { return static_cast<T>(Wrapping<T>(a) * Wrapping<T>(b)); }
};
struct Negate {
  template <typename T>
  static T Of(T x) {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(Wrapping<T>(0) - Wrapping<T>(x));
    else return -x;
  }
};
struct Divide {
  template <typename T>
  static T Of(T a, T b) {
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
  static T Of(T a, T b) {
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
// NaN wins, from either side.
struct Minimum {
  template <typename T>
  static T Of(T a, T b) { return a <= b || a != a ? a : b; }
};
struct Maximum {
  template <typename T>
  static T Of(T a, T b) { return a >= b || a != a ? a : b; }
};
struct ReluGrad {
  template <typename T>
  static T Of(T z, T gy) { return z > 0 ? gy : T(0); }
};
struct LogicalAnd {
  template <typename T>
  static T Of(T a, T b) { return (a != 0) & (b != 0); }
};
struct LogicalOr {
  template <typename T>
  static T Of(T a, T b) { return (a != 0) | (b != 0); }
};

struct Equal {
  template <typename T>
  static bool Of(T a, T b) { return a == b; }
};
struct NotEqual {
  template <typename T>
  static bool Of(T a, T b) { return a != b; }
};
struct Less {
  template <typename T>
  static bool Of(T a, T b) { return a < b; }
};
struct LessEqual {
  template <typename T>
  static bool Of(T a, T b) { return a <= b; }
};
struct Greater {
  template <typename T>
  static bool Of(T a, T b) { return a > b; }
};
struct GreaterEqual {
  template <typename T>
  static bool Of(T a, T b) { return a >= b; }
};

struct Abs {
  template <typename T>
  static T Of(T x) {
    if constexpr (std::is_integral_v<T>) return x < 0 ? Negate::Of(x) : x;
    else return std::fabs(x);
  }
};
struct Square {
  template <typename T>
  static T Of(T x) { return Multiply::Of(x, x); }
};
struct Relu {
  template <typename T>
  static T Of(T x) { return x < 0 ? T(0) : x; }
};
struct Sqrt {
  template <typename T>
  static T Of(T x) { return std::sqrt(x); }
};
struct Exp {
  template <typename T>
  static T Of(T x) { return std::exp(x); }
};
struct Log {
  template <typename T>
  static T Of(T x) { return std::log(x); }
};
struct Tanh {
  template <typename T>
  static T Of(T x) { return std::tanh(x); }
};
struct Sigmoid {
  template <typename T>
  static T Of(T x) { return T(1) / (T(1) + std::exp(-x)); }
};
struct LogicalNot {
  template <typename T>
  static T Of(T x) { return x == 0; }
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_KERNELS_ELEMENTWISE_OPS_H_
