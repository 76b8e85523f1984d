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

bool IsComparison(BinaryOperator op) {
  return op >= BinaryOperator::kEqual && op <= BinaryOperator::kGreaterEqual;
}
bool IsEquality(BinaryOperator op) {
  return op == BinaryOperator::kEqual || op == BinaryOperator::kNotEqual;
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

Folded FoldSquareRoot(const Value& value) {
  std::optional<double> number = AsFloat(value);
  if (!number) return {};
  if (*number < 0) return {std::nullopt, "the square root of a negative number"};
  return {Value(std::sqrt(*number)), ""};
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
