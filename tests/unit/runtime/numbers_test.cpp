// f16 and bf16 at every value and every tie, and the functions of f32 and f64 against the C
// library's in 80 bits: never further away than their headers state.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include "runtime/device/numbers/half.h"
#include "runtime/device/numbers/half_functions.h"
#include "runtime/device/numbers/logarithm.h"
#include "runtime/device/numbers/normal_distribution.h"
#include "runtime/device/numbers/power.h"
#include "runtime/device/numbers/trigonometry.h"

namespace cgraph::device {
namespace {

template <typename Half>
Half FromBits(uint16_t bits) {
  Half half;
  half.bits = bits;
  return half;
}

// Checks all positive values up to infinity, whose bits are `infinity`.
template <typename Half>
void CheckRounding(uint16_t infinity) {
  for (uint16_t bits = 0; bits < infinity; ++bits) {
    const double value = FromBits<Half>(bits);
    CHECK(Half(value).bits == bits);
    CHECK(Half(static_cast<float>(value)).bits == bits);
    CHECK(Half(-value).bits == (bits | 0x8000));
    // For infinity the value that would come next counts.
    const auto value_of = [](int other) {
      return double{FromBits<Half>(static_cast<uint16_t>(other))};
    };
    const bool last = bits + 1 == infinity;
    const double next = last ? value + (value - value_of(bits - 1)) : value_of(bits + 1);
    const double middle = (value + next) / 2;
    const uint16_t even = static_cast<uint16_t>(bits + (bits & 1));
    CHECK(Half(middle).bits == even);
    CHECK(Half(std::nextafter(middle, 0)).bits == bits);
    CHECK(Half(std::nextafter(middle, next)).bits == bits + 1);
    CHECK(Half(static_cast<float>(middle)).bits == even);
  }
  CHECK(Half(std::numeric_limits<double>::infinity()).bits == infinity);
  CHECK(Half(std::numeric_limits<double>::max()).bits == infinity);
  const float nan = Half(std::numeric_limits<float>::quiet_NaN());
  CHECK(nan != nan);
  CHECK(Half(int64_t{3}).bits == Half(3.0f).bits);
}

// Returns one unit in the last place of a result of T.
template <typename T>
long double UnitOf(long double exact) {
  constexpr int kDigits = std::numeric_limits<T>::digits;
  const int least = std::numeric_limits<T>::min_exponent - 1;
  const int exponent = exact == 0 ? least : std::max(std::ilogb(exact), least);
  return std::ldexp(1.0L, exponent - kDigits + 1);
}

// Returns the greatest error among some hundred thousand numbers of [low, high], in units in the
// last place; infinite where a result is no number and should be one, or the other way round.
template <typename T, typename Function, typename Exact>
double Error(Function function, Exact exact, T low, T high) {
  using Bits = typename BinaryFormat<T>::Bits;
  constexpr Bits kStep = std::numeric_limits<Bits>::max() / 261'733;
  long double most = 0;
  for (Bits i = 0; i < 261'733; ++i) {
    const T x = std::bit_cast<T>(i * kStep + (i * i) % 4099);
    if (!(x >= low && x <= high)) continue;
    const long double expected = exact(static_cast<long double>(x));
    const T nearest = static_cast<T>(expected), got = function(x);
    if (std::isfinite(nearest) && std::isfinite(got)) {
      most = std::max(most, std::fabs(got - expected) / UnitOf<T>(expected));
    } else if (!(got == nearest || (got != got && nearest != nearest))) {
      return std::numeric_limits<double>::infinity();
    }
  }
  return static_cast<double>(most);
}

// Checks what the headers state of T, against the C library in 80 bits.
template <typename T>
void CheckFunctions() {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const auto all = [&](auto function, auto exact) {
    return Error<T>(function, exact, -kInfinity, kInfinity);
  };
  CHECK(all([](T x) { return ExpOf(x); }, [](long double x) { return std::exp(x); }) < 1);
  CHECK(all([](T x) { return LogOf(x); }, [](long double x) { return std::log(x); }) < 1);
  CHECK(all([](T x) { return TanhOf(x); }, [](long double x) { return std::tanh(x); }) < 2.5);
  CHECK(all([](T x) { return ErfOf(x); }, [](long double x) { return std::erf(x); }) < 1.1);
  // Down to where the results are no normal numbers any more.
  const T smallest = std::log(std::numeric_limits<T>::min());
  CHECK(Error<T>([](T x) { return SigmoidOf(x); },
                 [](long double x) { return 1 / (1 + std::exp(-x)); }, smallest, kInfinity) < 2.3);
  CHECK(Error<T>([](T x) { return SiluOf(x); },
                 [](long double x) { return x / (1 + std::exp(-x)); }, smallest, kInfinity) < 2.3);
  for (T x = smallest; x > smallest - 5; x -= T(0.001)) {  // and from there on next to nothing
    CHECK(SigmoidOf(x) <= 2 * std::numeric_limits<T>::min());
    CHECK(std::fabs(SiluOf(x)) <= -2 * x * std::numeric_limits<T>::min());
  }
  const T lowest = -std::sqrt(-2 * smallest) + T(0.3);
  CHECK(Error<T>([](T x) { return NormalOf(x).cdf; },
                 [](long double x) { return std::erfc(x * -0.707106781186547524401L) / 2; }, lowest,
                 kInfinity) < 5.5);
  CHECK(Error<T>([](T x) { return GeluOf(x); },
                 [](long double x) { return x * std::erfc(x * -0.707106781186547524401L) / 2; },
                 lowest, kInfinity) < 5.5);
  CHECK(Error<T>([](T x) { return NormalOf(x).density; },
                 [](long double x) { return std::exp(-x * x / 2) * 0.398942280401432677940L; },
                 lowest, -lowest) < 3.1);
  CHECK(ExpOf(-kInfinity) == 0);
  CHECK(ExpOf(kInfinity) == kInfinity);
  CHECK(std::signbit(TanhOf(T(-0.0))));
  CHECK(LogOf(std::numeric_limits<T>::denorm_min()) < LogOf(std::numeric_limits<T>::min()));
  const T nan = std::numeric_limits<T>::quiet_NaN();
  for (T got : {ExpOf(nan), LogOf(nan), TanhOf(nan), ErfOf(nan), SigmoidOf(nan), NormalOf(nan).cdf,
                SiluOf(nan), GeluOf(nan), LogOf(T(-1))}) {
    CHECK(got != got);
  }
}

// Checks what power.h states: for some exponents, and where IEEE 754 says what the power is.
template <typename T>
void CheckPowers(double most) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  for (const T y : {T(0.5), T(-2.5), T(3.7), T(31.3), T(-100.1), T(0.001), T(-1)}) {
    INFO(y);
    CHECK(Error<T>([y](T x) { return PowerOf(x, y); },
                   [y](long double x) { return std::pow(x, static_cast<long double>(y)); }, T(0),
                   kInfinity) < most);
  }
  const T nan = std::numeric_limits<T>::quiet_NaN(), tiny = std::numeric_limits<T>::denorm_min();
  const T large = T(2) / std::numeric_limits<T>::epsilon();  // from here on all numbers are even
  const T special[] = {0,     1,         2,   3,    T(0.5),    T(2.5), large - 1,
                       large, 2 * large, nan, tiny, kInfinity, T(1e30)};
  for (const T x : special) {
    for (const T y : special) {
      for (const T a : {x, -x}) {
        for (const T b : {y, -y}) {
          const T got = PowerOf(a, b), expected = std::pow(a, b);
          INFO(a << " to " << b << " is " << got << ", expected " << expected);
          const bool near = got == expected || std::fabs(got - expected) <= 2 * UnitOf<T>(expected);
          CHECK(((got != got && expected != expected) ||
                 (near && std::signbit(got) == std::signbit(expected))));
        }
      }
    }
  }
}

// Checks what trigonometry.h states. The C library in 80 bits reduces arguments of f64 exactly.
template <typename T>
void CheckAngles(double most) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const auto sin = [](T x) { return SinOf(x); };
  const auto cos = [](T x) { return CosOf(x); };
  const auto exact_sin = [](long double x) { return std::sin(x); };
  const auto exact_cos = [](long double x) { return std::cos(x); };
  CHECK(Error<T>(sin, exact_sin, -kInfinity, kInfinity) < most);
  CHECK(Error<T>(cos, exact_cos, -kInfinity, kInfinity) < most);
  // Next to multiples of pi/2, where nearly all digits cancel, and on both sides of 2^26.
  const auto near = [&](T x) {
    for (const T a : {std::nextafter(x, T(0)), x, std::nextafter(x, kInfinity), -x}) {
      INFO(a);
      const long double s = std::sin(static_cast<long double>(a));
      const long double c = std::cos(static_cast<long double>(a));
      CHECK(std::fabs(SinOf(a) - s) < most * UnitOf<T>(s));
      CHECK(std::fabs(CosOf(a) - c) < most * UnitOf<T>(c));
    }
  };
  for (int n = 1; n < 100'000'000; n += 1 + n / 16) {
    near(static_cast<T>(n * 1.57079632679489661923L));
  }
  for (const T x : {T(0x1p26), T(0x1p-30), std::numeric_limits<T>::min(), T(5.3193726483265414e+37),
                    std::numeric_limits<T>::max() / 2}) {
    near(x);
  }
  CHECK(std::signbit(SinOf(T(-0.0))));
  CHECK(SinOf(-std::numeric_limits<T>::denorm_min()) == -std::numeric_limits<T>::denorm_min());
  for (const T x : {kInfinity, -kInfinity, std::numeric_limits<T>::quiet_NaN()}) {
    CHECK(std::isnan(SinOf(x)));
    CHECK(std::isnan(CosOf(x)));
  }
}

// The digits and the exponent of the least normal number.
template <typename Half>
struct HalfLimits;
template <>
struct HalfLimits<F16> {
  static constexpr int kDigits = 11, kLeast = -14;
};
template <>
struct HalfLimits<BF16> {
  static constexpr int kDigits = 8, kLeast = -126;
};

// Returns the greatest error of the rounded results of all numbers of [low, infinity], as Error
// does.
template <typename Half, typename Function, typename Exact>
double HalfError(Function function, Exact exact, float low) {
  using Limits = HalfLimits<Half>;
  long double most = 0;
  for (int bits = 0; bits < 1 << 16; ++bits) {
    const float x = FromBits<Half>(static_cast<uint16_t>(bits));
    if (!(x >= low)) continue;
    const long double expected = exact(static_cast<long double>(x));
    const float nearest = Half(static_cast<double>(expected)), got = Half(function(x));
    if (std::isfinite(nearest) && std::isfinite(got)) {
      const int exponent = expected == 0 ? Limits::kLeast : std::ilogb(expected);
      const int unit = std::max(exponent, Limits::kLeast) - Limits::kDigits + 1;
      most = std::max(most, std::ldexp(std::fabs(got - expected), -unit));
    } else if (got != nearest) {
      return std::numeric_limits<double>::infinity();
    }
  }
  return static_cast<double>(most);
}

// Checks what half_functions.h states.
template <typename Half>
void CheckHalfFunctions() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  // The least argument for which the logistic function is a normal number of f32.
  constexpr float kSigmoid = -87.3f;
  // Always inlined, so that a pointer to one cannot be called.
  const auto exp = [](float x) { return HalfExpOf(x); };
  const auto tanh = [](float x) { return HalfTanhOf(x); };
  const auto sigmoid = [](float x) { return HalfSigmoidOf(x); };
  const auto silu = [](float x) { return HalfSiluOf(x); };
  const auto gelu = [](float x) { return HalfGeluOf(x); };
  CHECK(HalfError<Half>(
            exp, [](long double x) { return std::exp(x); }, -kInfinity) < 0.52);
  CHECK(HalfError<Half>(
            tanh, [](long double x) { return std::tanh(x); }, -kInfinity) < 0.6);
  CHECK(HalfError<Half>(
            sigmoid, [](long double x) { return 1 / (1 + std::exp(-x)); }, kSigmoid) < 0.52);
  CHECK(HalfError<Half>(
            silu, [](long double x) { return x / (1 + std::exp(-x)); }, kSigmoid) < 0.52);
  CHECK(HalfError<Half>(
            gelu, [](long double x) { return x * std::erfc(x * -0.707106781186547524401L) / 2; },
            std::numeric_limits<float>::lowest()) < 0.65);
  CHECK(static_cast<float>(Half(HalfGeluOf(-kInfinity))) == 0);
  CHECK(HalfSigmoidOf(-kInfinity) == 0);
  CHECK(std::signbit(HalfTanhOf(-0.0f)));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (float (*function)(float) : {+exp, +tanh, +sigmoid, +silu, +gelu}) {
    CHECK(std::isnan(function(nan)));
    CHECK(std::isnan(function(-nan)));
  }
}

}  // namespace

TEST_CASE("f16 rounds once, to even") { CheckRounding<F16>(0x7c00); }
TEST_CASE("bf16 rounds once, to even") { CheckRounding<BF16>(0x7f80); }

TEST_CASE("functions of f16 are as exact as they say") { CheckHalfFunctions<F16>(); }
TEST_CASE("functions of bf16 are as exact as they say") { CheckHalfFunctions<BF16>(); }

TEST_CASE("functions of f32 are as exact as they say") { CheckFunctions<float>(); }
TEST_CASE("functions of f64 are as exact as they say") { CheckFunctions<double>(); }

TEST_CASE("powers are as exact as they say") {
  CheckPowers<float>(0.51);
  CheckPowers<double>(1.5);
}

TEST_CASE("sines and cosines are as exact as they say") {
  CheckAngles<float>(0.51);
  CheckAngles<double>(0.8);
  // The f64 that is nearest to a multiple of pi/2, relative to its size (Muller et al., Handbook of
  // Floating-Point Arithmetic, 2010).
  CHECK(CosOf(6381956970095103.0 * 0x1p797) == -0x1.14ae72e6ba22fp-61);
}

}  // namespace cgraph::device
