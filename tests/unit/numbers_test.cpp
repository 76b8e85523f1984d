// f16 and bf16 at every value and every tie, and the functions of f32 against the C library's in
// f64: never further away than float_math.h states.
#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include "runtime/device/numbers/float_math.h"
#include "runtime/device/numbers/half.h"

namespace cgraph::device {
namespace {

template <typename Half>
Half FromBits(uint16_t bits) {
  Half half;
  half.bits = bits;
  return half;
}

// Of all positive values up to infinity, whose bits are `infinity`.
template <typename Half>
void CheckRounding(uint16_t infinity) {
  for (uint16_t bits = 0; bits < infinity; ++bits) {
    const double value = FromBits<Half>(bits);
    CHECK(Half(value).bits == bits);
    CHECK(Half(static_cast<float>(value)).bits == bits);
    CHECK(Half(-value).bits == (bits | 0x8000));
    // Of infinity counts what would be the next value.
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

// The greatest error among some hundred thousand floats of [low, high], in units in the last place.
template <typename Function, typename Exact>
double Error(Function function, Exact exact, float low, float high) {
  double most = 0;
  for (uint64_t bits = 0; bits <= 0xffffffffu; bits += 16411) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (!(x >= low && x <= high)) continue;
    const double expected = exact(double{x});
    const float nearest = static_cast<float>(expected), got = function(x);
    if (std::isinf(nearest) || nearest != nearest || nearest == 0) {
      const bool same = got == nearest || (got != got && nearest != nearest);
      if (!same && std::fabs(got) > 0x1p-149) return std::numeric_limits<double>::infinity();
      continue;
    }
    const double unit =
        std::fabs(nearest) < 0x1p-126f ? 0x1p-149 : std::ldexp(1.0, std::ilogb(nearest) - 23);
    most = std::max(most, std::fabs(got - expected) / unit);
  }
  return most;
}

}  // namespace

TEST_CASE("f16 rounds once, to even") { CheckRounding<F16>(0x7c00); }
TEST_CASE("bf16 rounds once, to even") { CheckRounding<BF16>(0x7f80); }

TEST_CASE("functions of f32 are as exact as they say") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto all = [&](auto function, auto exact) {
    return Error(function, exact, -kInfinity, kInfinity);
  };
  CHECK(all([](float x) { return ExpFloat(x); }, [](double x) { return std::exp(x); }) < 1);
  CHECK(all([](float x) { return LogFloat(x); }, [](double x) { return std::log(x); }) < 0.8);
  CHECK(all([](float x) { return TanhFloat(x); }, [](double x) { return std::tanh(x); }) < 1.3);
  CHECK(all([](float x) { return ErfFloat(x); }, [](double x) { return std::erf(x); }) < 1.1);
  CHECK(Error([](float x) { return SigmoidFloat(x); }, [](double x) { return 1 / (1 + std::exp(-x)); }, -87, kInfinity) < 2.3);
  CHECK(Error([](float x) { return NormalFloat(x).cdf; },
              [](double x) { return 0.5 * std::erfc(x * -0.70710678118654752440); }, -13,
              kInfinity) < 4);
  CHECK(ExpFloat(-kInfinity) == 0);
  CHECK(std::signbit(TanhFloat(-0.0f)));
}

}  // namespace cgraph::device
