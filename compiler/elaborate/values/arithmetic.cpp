#include "compiler/elaborate/values/arithmetic.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "compiler/program/text.h"
#include "llvm/ADT/APFloat.h"

namespace cgraph::elaborate {
namespace {

constexpr const char* kOverflow = "the result does not fit 64 bits";
constexpr const char* kZero = "division by zero";

Folded FoldIntegers(BinaryOperator op, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  switch (op) {
    case BinaryOperator::kAdd: overflow = __builtin_add_overflow(a, b, &result); break;
    case BinaryOperator::kSubtract: overflow = __builtin_sub_overflow(a, b, &result); break;
    case BinaryOperator::kMultiply: overflow = __builtin_mul_overflow(a, b, &result); break;
    case BinaryOperator::kDivide:
    case BinaryOperator::kModulo: {  // both round down, as on tensors
      if (b == 0) return {std::nullopt, kZero};
      if (b == -1) {
        if (op == BinaryOperator::kDivide) overflow = __builtin_sub_overflow(0, a, &result);
        break;
      }
      bool adjust = a % b != 0 && (a % b < 0) != (b < 0);
      result = op == BinaryOperator::kDivide ? a / b - adjust : a % b + (adjust ? b : 0);
      break;
    }
    default: return {};
  }
  if (overflow) return {std::nullopt, kOverflow};
  return {Value(result), ""};
}

Folded FoldFloats(BinaryOperator op, double a, double b) {
  double result = 0;
  switch (op) {
    case BinaryOperator::kAdd: result = a + b; break;
    case BinaryOperator::kSubtract: result = a - b; break;
    case BinaryOperator::kMultiply: result = a * b; break;
    case BinaryOperator::kDivide:
      if (b == 0) return {std::nullopt, kZero};
      result = a / b;
      break;
    default: return {};
  }
  if (!std::isfinite(result)) return {std::nullopt, "the result is not finite"};
  return {Value(result), ""};
}

template <typename T>
Folded Compare(BinaryOperator op, const T& a, const T& b) {
  switch (op) {
    case BinaryOperator::kEqual: return {Value(a == b), ""};
    case BinaryOperator::kNotEqual: return {Value(a != b), ""};
    case BinaryOperator::kLess: return {Value(a < b), ""};
    case BinaryOperator::kLessEqual: return {Value(a <= b), ""};
    case BinaryOperator::kGreater: return {Value(a > b), ""};
    case BinaryOperator::kGreaterEqual: return {Value(a >= b), ""};
    default: return {};
  }
}

std::optional<double> AsFloat(const Value& value) {
  if (const double* number = value.As<double>()) return *number;
  if (const int64_t* number = value.As<int64_t>()) return static_cast<double>(*number);
  return std::nullopt;
}

}  // namespace

Folded FoldBinary(BinaryOperator op, const Value& a, const Value& b) {
  if (a.As<int64_t>() && b.As<int64_t>()) {
    if (IsComparison(op)) return Compare(op, *a.As<int64_t>(), *b.As<int64_t>());
    return FoldIntegers(op, *a.As<int64_t>(), *b.As<int64_t>());
  }
  std::optional<double> x = AsFloat(a), y = AsFloat(b);
  if (x && y) return IsComparison(op) ? Compare(op, *x, *y) : FoldFloats(op, *x, *y);
  if (a.As<bool>() && b.As<bool>()) {
    bool p = *a.As<bool>(), q = *b.As<bool>();
    if (op == BinaryOperator::kAnd) return {Value(p && q), ""};
    if (op == BinaryOperator::kOr) return {Value(p || q), ""};
    return IsEquality(op) ? Compare(op, p, q) : Folded{};
  }
  if (a.As<std::string>() && b.As<std::string>() && IsEquality(op)) {
    return Compare(op, *a.As<std::string>(), *b.As<std::string>());
  }
  return {};
}

Folded FoldNegate(const Value& value) {
  if (const int64_t* number = value.As<int64_t>()) {
    return FoldIntegers(BinaryOperator::kSubtract, 0, *number);
  }
  if (const double* number = value.As<double>()) return {Value(-*number), ""};
  return {};
}

namespace {

// Quad: a float of 113 bits, computed by LLVM in integers.
using Quad = llvm::APFloat;
constexpr auto kNearest = llvm::APFloat::rmNearestTiesToEven;

Quad ToQuad(double value) {
  Quad quad(value);
  bool loses_info = false;
  quad.convert(Quad::IEEEquad(), kNearest, &loses_info);
  return quad;
}

double ToDouble(Quad quad) {
  bool loses_info = false;
  quad.convert(Quad::IEEEdouble(), kNearest, &loses_info);
  return quad.convertToDouble();
}

const Quad& Ln2() {
  static const Quad ln2(Quad::IEEEquad(), "0.69314718055994530941723212145817656807550013436026");
  return ln2;
}

// Returns e to the power of x, where |x| < 800: 2^k e^r, with |r| at most half of ln 2.
Quad Exp(const Quad& x) {
  const int k = static_cast<int>(std::lround(ToDouble(x / Ln2())));
  const Quad r = x - ToQuad(k) * Ln2();
  Quad sum = ToQuad(1), term = ToQuad(1);
  for (int n = 1; n < 32; ++n) {  // 0.35^32 / 32! is below 2^-113
    term = term * r / ToQuad(n);
    sum = sum + term;
  }
  return llvm::scalbn(sum, k, kNearest);
}

// Returns the natural logarithm of x > 0: e ln 2 + 2 artanh((m - 1) / (m + 1)), where x is 2^e m
// and m lies between the root of 1/2 and that of 2.
Quad Log(double x) {
  int e = 0;
  double m = std::frexp(x, &e);
  if (m < 0.70710678118654752) {
    m *= 2;
    --e;
  }
  const Quad s = (ToQuad(m) - ToQuad(1)) / (ToQuad(m) + ToQuad(1));
  const Quad square = s * s;
  Quad sum = ToQuad(0), power = s;
  for (int n = 1; n < 64; n += 2) {  // 0.172^64 / 64 is below 2^-113 of the first term
    sum = sum + power / ToQuad(n);
    power = power * square;
  }
  return ToQuad(e) * Ln2() + ToQuad(2) * sum;
}

Folded Finite(double value) {
  if (!std::isfinite(value)) return {std::nullopt, "the result is not finite"};
  return {Value(value), ""};
}

Folded FoldExp(const Quad& x) {
  const double near = ToDouble(x);
  if (near > 750.0) return Finite(HUGE_VAL);
  return near < -750.0 ? Finite(0.0) : Finite(ToDouble(Exp(x)));
}

Folded FoldIntegerPow(int64_t x, int64_t exponent) {
  if (exponent < 0) {
    return {std::nullopt, "a negative power of an int is no int; write a float, 2.0"};
  }
  int64_t result = 1;
  for (bool overflow = false; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) overflow |= __builtin_mul_overflow(result, x, &result);
    if (exponent > 1) overflow |= __builtin_mul_overflow(x, x, &x);
    if (overflow) return {std::nullopt, kOverflow};
  }
  return {Value(result), ""};
}

Folded FoldPow(double x, double y) {
  const bool whole = y == std::floor(y);
  if (y == 0 || x == 1) return {Value(1.0), ""};
  if (x == 0 && y < 0) return {std::nullopt, kZero};
  if (x == 0) return {Value(0.0), ""};
  if (x < 0 && !whole) return {std::nullopt, "a negative number has whole powers alone"};
  const Folded power = FoldExp(ToQuad(y) * Log(std::abs(x)));
  const bool negative = x < 0 && std::fmod(y, 2) != 0;
  return power.value && negative ? Folded{Value(-*power.value->As<double>()), ""} : power;
}

}  // namespace

Folded FoldFunction(program::NumberFunction function, const Value& a, const Value& b) {
  using program::NumberFunction;
  const std::optional<double> x = AsFloat(a), y = AsFloat(b);
  if (!x) return {};
  switch (function) {
    case NumberFunction::kSquareRoot:
      if (*x < 0) return {std::nullopt, "the square root of a negative number"};
      return {Value(std::sqrt(*x)), ""};
    case NumberFunction::kExp:
      return FoldExp(ToQuad(*x));
    case NumberFunction::kLog:
      if (*x <= 0) return {std::nullopt, "the logarithm of a number that is not above 0"};
      return Finite(ToDouble(Log(*x)));
    default:
      break;
  }
  if (!y) return {};
  const bool ints = a.As<int64_t>() && b.As<int64_t>();
  if (function == NumberFunction::kPow) {
    return ints ? FoldIntegerPow(*a.As<int64_t>(), *b.As<int64_t>()) : FoldPow(*x, *y);
  }
  const bool is_minimum = function == NumberFunction::kMinimum;
  const bool is_less = *FoldBinary(BinaryOperator::kLess, a, b).value->As<bool>();
  const bool takes_a = is_less == is_minimum;
  if (ints) return {takes_a ? a : b, ""};
  return {Value(takes_a ? *x : *y), ""};
}

namespace {

template <typename T>
std::string Bytes(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

template <typename T>
Encoded EncodeInteger(int64_t number, DType dtype) {
  if (number < std::numeric_limits<T>::min() || number > std::numeric_limits<T>::max()) {
    return {"", fmt::format("{} does not fit {}", number, DTypeName(dtype))};
  }
  return {Bytes(static_cast<T>(number)), ""};
}

const llvm::fltSemantics& SemanticsOf(DType dtype) {
  switch (dtype) {
    case DType::kF16: return llvm::APFloat::IEEEhalf();
    case DType::kBF16: return llvm::APFloat::BFloat();
    case DType::kF32: return llvm::APFloat::IEEEsingle();
    default: return llvm::APFloat::IEEEdouble();
  }
}

std::string FloatBytes(const llvm::APFloat& value, DType dtype) {
  uint64_t bits = value.bitcastToAPInt().getZExtValue();
  return Bytes(bits).substr(0, DTypeBytes(dtype));
}

Encoded EncodeExactly(int64_t number, DType dtype) {
  llvm::APFloat value(SemanticsOf(dtype));
  auto status = value.convertFromAPInt(llvm::APInt(64, static_cast<uint64_t>(number), true), true,
                                       llvm::APFloat::rmNearestTiesToEven);
  if (status != llvm::APFloat::opOK) {
    return {"", fmt::format("{} is not exact in {}", number, DTypeName(dtype))};
  }
  return {FloatBytes(value, dtype), ""};
}

Encoded EncodeRounded(double number, DType dtype) {
  llvm::APFloat value(number);
  bool loses_info = false;
  value.convert(SemanticsOf(dtype), llvm::APFloat::rmNearestTiesToEven, &loses_info);
  if (!value.isFinite()) {
    return {"", fmt::format("{} does not fit {}", program::FloatText(number), DTypeName(dtype))};
  }
  return {FloatBytes(value, dtype), ""};
}

}  // namespace

Encoded EncodeNumber(const Value& number, DType dtype) {
  std::string name(DTypeName(dtype));
  if (const bool* truth = number.As<bool>()) {
    if (dtype == DType::kBool) return {Bytes(static_cast<uint8_t>(*truth)), ""};
    return {"", fmt::format("a bool does not become {}", name)};
  }
  if (const double* value = number.As<double>()) {
    if (ClassOf(dtype) == DTypeClass::kFloating) return EncodeRounded(*value, dtype);
    return {"", fmt::format("a float does not become {}", name)};
  }
  int64_t value = *number.As<int64_t>();
  switch (dtype) {
    case DType::kBool: return {"", "an int does not become bool"};
    case DType::kI8: return EncodeInteger<int8_t>(value, dtype);
    case DType::kU8: return EncodeInteger<uint8_t>(value, dtype);
    case DType::kI32: return EncodeInteger<int32_t>(value, dtype);
    case DType::kI64: return EncodeInteger<int64_t>(value, dtype);
    default: return EncodeExactly(value, dtype);
  }
}

int64_t DecodeI64(const std::string& bytes) {
  int64_t value = 0;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

DType NaturalDType(const Value& number) {
  if (number.As<bool>()) return DType::kBool;
  return number.As<double>() ? DType::kF32 : DType::kI64;
}

}  // namespace cgraph::elaborate
