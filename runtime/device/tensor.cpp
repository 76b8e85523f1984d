// Prints in two walks over the shown elements: the first measures their widths, the second makes
// the text.
#include "runtime/device/tensor.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "runtime/device/numbers/half.h"
#include "runtime/plan/kinds.h"

namespace cgraph::device {
namespace {

using plan::DType;

constexpr int64_t kShownInFull = 1000;  // elements
constexpr int64_t kEdge = 3;            // shown at each end of a long dimension
constexpr size_t kLineWidth = 100;

float HalfToFloat(uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const int mantissa = half & 1023;
  float magnitude;
  if (exponent == 31) magnitude = mantissa == 0 ? HUGE_VALF : std::nanf("");
  else if (exponent == 0) magnitude = std::ldexp(static_cast<float>(mantissa), -24);
  else magnitude = std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  return half & 0x8000 ? -magnitude : magnitude;
}

// The digits of a float as NumPy prints them: the fewest that read back as the same float of its
// dtype, and at most eight behind the point. The sign of a NaN is not printed.
constexpr size_t kPrecision = 8;
constexpr double kLeastExponent = 1e8;    // from here on, with an exponent
constexpr double kLeastPositional = 1e-4;
constexpr double kMostRatio = 1000;

std::string ToChars(auto value, std::chars_format form, int precision = -1) {
  std::array<char, 512> text;
  const auto end = precision < 0
                       ? std::to_chars(text.data(), text.data() + text.size(), value, form)
                       : std::to_chars(&text[0], &text[0] + text.size(), value, form, precision);
  return {text.data(), end.ptr};
}

// The shortest decimal that becomes the same half, as a double.
template <typename Half>
double ShortestHalf(double value) {
  constexpr int kEnough = 5;  // digits of any half
  for (int digits = 0; digits < kEnough; ++digits) {
    const std::string text = ToChars(value, std::chars_format::scientific, digits);
    double back = 0;
    std::from_chars(text.data(), text.data() + text.size(), back);
    if (static_cast<float>(Half(back)) == static_cast<float>(value)) return back;
  }
  return value;
}

std::string ShortestText(const Tensor& tensor, int64_t i, std::chars_format form) {
  const double value = ElementAsDouble(tensor, i);
  switch (tensor.dtype) {
    case DType::f16: return ToChars(ShortestHalf<F16>(value), form);
    case DType::bf16: return ToChars(ShortestHalf<BF16>(value), form);
    case DType::f32: return ToChars(static_cast<float>(value), form);
    default: return ToChars(value, form);
  }
}

// A float split into its parts: 12.5e-07 is "12", "5" and "-07".
struct FloatParts {
  std::string whole, fraction, exponent;
};

// Splits a float, with at least `least` digits behind the point.
FloatParts PartsOf(const Tensor& tensor, int64_t i, std::chars_format form, size_t least = 0) {
  std::string text = ShortestText(tensor, i, form);
  const auto split = [&] {
    FloatParts parts;
    const size_t e = std::min(text.find('e'), text.size());
    const size_t point = std::min(text.find('.'), e);
    parts.whole = text.substr(0, point);
    if (point < e) parts.fraction = text.substr(point + 1, e - point - 1);
    if (e < text.size()) parts.exponent = text.substr(e + 1);
    return parts;
  };
  FloatParts parts = split();
  const bool few = parts.fraction.size() < least;
  if (!few && parts.fraction.size() <= kPrecision) return parts;
  text = ToChars(ElementAsDouble(tensor, i), form, static_cast<int>(few ? least : kPrecision));
  parts = split();
  if (few) return parts;
  parts.fraction.erase(parts.fraction.find_last_not_of('0') + 1);
  return parts;
}

// The common form of all floats of a tensor: with or without an exponent, points below each other.
class FloatFormat {
 public:
  explicit FloatFormat(const Tensor& tensor) : tensor_(tensor) {}

  // Look() is called for every element first, then Measure() again for each.
  void Look(int64_t i) {
    const double value = std::abs(ElementAsDouble(tensor_, i));
    if (!std::isfinite(value) || value == 0) return;
    least_ = std::min(least_, value);
    most_ = std::max(most_, value);
  }
  void Measure(int64_t i) {
    const double value = ElementAsDouble(tensor_, i);
    if (!std::isfinite(value)) {
      others_ = std::max(others_, Other(value).size());
      return;
    }
    const FloatParts parts = PartsOf(tensor_, i, form());
    whole_ = std::max(whole_, parts.whole.size());
    fraction_ = std::max(fraction_, parts.fraction.size());
    exponent_ = std::max(exponent_, parts.exponent.size());
  }
  std::string Text(int64_t i) const {
    const double value = ElementAsDouble(tensor_, i);
    const size_t behind = 1 + fraction_ + (exponent_ == 0 ? 0 : 1 + exponent_);
    const size_t width = std::max(whole_ + behind, others_);
    if (!std::isfinite(value)) return fmt::format("{:>{}}", Other(value), width);
    FloatParts parts = PartsOf(tensor_, i, form(), exponent_ > 0 ? fraction_ : 0);
    std::string text = parts.whole + "." + parts.fraction;
    if (exponent_ > 0) {
      text.append(fraction_ - parts.fraction.size(), '0');
      parts.exponent.insert(1, exponent_ - parts.exponent.size(), '0');  // behind its sign
      text += "e" + parts.exponent;
    } else {
      text.append(fraction_ - parts.fraction.size(), ' ');
    }
    return fmt::format("{:>{}}", text, width);
  }

 private:
  static std::string Other(double value) {
    return value != value ? "nan" : value > 0 ? "inf" : "-inf";
  }
  std::chars_format form() const {
    const double ratio = tensor_.dtype == DType::f64
                             ? most_ / least_
                             : static_cast<float>(most_) / static_cast<float>(least_);
    const bool exponent = most_ > 0 && (most_ >= kLeastExponent || least_ < kLeastPositional ||
                                        ratio > kMostRatio);
    return exponent ? std::chars_format::scientific : std::chars_format::fixed;
  }

  const Tensor& tensor_;
  double least_ = HUGE_VAL, most_ = 0;  // of absolute values that are neither 0 nor infinite
  size_t whole_ = 0, fraction_ = 0, exponent_ = 0, others_ = 0;  // widths
};

bool IsFloat(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32 || dtype == DType::f64;
}

// A single number has all of its digits.
std::string ScalarText(const Tensor& tensor) {
  const double value = ElementAsDouble(tensor, 0);
  if (value != value) return "nan";
  std::string text;
  switch (tensor.dtype) {
    case DType::f16: text = fmt::format("{}", ShortestHalf<F16>(value)); break;
    case DType::bf16: text = fmt::format("{}", ShortestHalf<BF16>(value)); break;
    case DType::f32: text = fmt::format("{}", static_cast<float>(value)); break;
    default: text = fmt::format("{}", value); break;
  }
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".";
  return text;
}

// Text of an element whose dtype is no float.
std::string ElementText(const Tensor& tensor, int64_t i) {
  switch (tensor.dtype) {
    case DType::bool_: return tensor.as<uint8_t>()[i] != 0 ? "true" : "false";
    case DType::i8: return fmt::format("{}", static_cast<int>(tensor.as<int8_t>()[i]));
    case DType::u8: return fmt::format("{}", static_cast<int>(tensor.as<uint8_t>()[i]));
    case DType::i32: return fmt::format("{}", tensor.as<int32_t>()[i]);
    default: return fmt::format("{}", tensor.as<int64_t>()[i]);
  }
}

class Printer {
 public:
  explicit Printer(const Tensor& tensor)
      : tensor_(tensor), cut_(tensor.elements() > kShownInFull), floats_(tensor) {}

  std::string Print() {
    const bool is_float = IsFloat(tensor_.dtype);
    if (tensor_.rank == 0) return is_float ? ScalarText(tensor_) : ElementText(tensor_, 0);
    if (tensor_.elements() == 0) return "[]";
    if (is_float) {
      Walk(0, 0, [this](int64_t i) { floats_.Look(i); });
      Walk(0, 0, [this](int64_t i) { floats_.Measure(i); });
    }
    Walk(0, 0, [this](int64_t i) { width_ = std::max(width_, Element(i).size()); });
    Append(0, 0);
    return std::move(text_);
  }

 private:
  std::string Element(int64_t i) const {
    return IsFloat(tensor_.dtype) ? floats_.Text(i) : ElementText(tensor_, i);
  }
  bool Cut(int dim) const { return cut_ && tensor_.dims[dim] > 2 * kEdge; }
  int64_t RowSize(int dim) const {
    int64_t size = 1;
    for (int i = dim + 1; i < tensor_.rank; ++i) size *= tensor_.dims[i];
    return size;
  }

  template <typename Use>
  void Walk(int dim, int64_t first, const Use& use) {
    if (dim == tensor_.rank) return use(first);
    for (int64_t i = 0; i < tensor_.dims[dim]; ++i) {
      if (Cut(dim) && i == kEdge) i = tensor_.dims[dim] - kEdge;
      Walk(dim + 1, first + i * RowSize(dim), use);
    }
  }

  void Append(int dim, int64_t first) {
    const bool innermost = dim == tensor_.rank - 1;
    text_ += '[';
    for (int64_t i = 0; i < tensor_.dims[dim]; ++i) {
      if (i > 0) innermost ? Separate(dim) : NewLine(dim);
      if (Cut(dim) && i == kEdge) {
        text_ += "...";
        innermost ? Separate(dim) : NewLine(dim);
        i = tensor_.dims[dim] - kEdge;
      }
      if (innermost) text_ += fmt::format("{:>{}}", Element(first + i), width_);
      else Append(dim + 1, first + i * RowSize(dim));
    }
    text_ += ']';
  }
  void NewLine(int dim) {
    text_ += '\n';
    line_ = text_.size();
    text_.append(static_cast<size_t>(dim) + 1, ' ');
  }
  void Separate(int dim) {
    if (text_.size() - line_ + width_ + 1 > kLineWidth) NewLine(dim);
    else text_ += ' ';
  }

  const Tensor& tensor_;
  const bool cut_;
  FloatFormat floats_;
  size_t width_ = 0;
  size_t line_ = 0;  // where the last line of text_ begins
  std::string text_;
};

}  // namespace

std::string TensorTypeText(const Tensor& tensor) {
  std::string text(plan::DTypeName(tensor.dtype));
  for (int i = 0; i < tensor.rank; ++i) {
    text += fmt::format("{}{}", i == 0 ? "[" : ", ", tensor.dims[i]);
  }
  return tensor.rank == 0 ? text : text + "]";
}

std::string FormatTensor(const Tensor& tensor) { return Printer(tensor).Print(); }

double ElementAsDouble(const Tensor& tensor, int64_t i) {
  switch (tensor.dtype) {
    case DType::f16: return HalfToFloat(tensor.as<uint16_t>()[i]);
    case DType::bf16: return std::bit_cast<float>(uint32_t{tensor.as<uint16_t>()[i]} << 16);
    case DType::f32: return tensor.as<float>()[i];
    default: return tensor.as<double>()[i];
  }
}

}  // namespace cgraph::device
