// Prints in two walks over the shown elements: the widest one first, then the text.
#include "runtime/device/format_tensor.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "runtime/plan/dtype.h"

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

// A single number in full, one of many with six digits. The sign of a NaN says nothing.
template <typename T>
std::string FloatText(T value, bool full) {
  if (value != value) return "nan";
  std::string text = full ? fmt::format("{}", value) : fmt::format("{:.6g}", value);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".";
  return text;
}

std::string ElementText(const Tensor& tensor, int64_t i, bool full) {
  switch (tensor.dtype) {
    case DType::bool_: return tensor.as<uint8_t>()[i] != 0 ? "true" : "false";
    case DType::i8: return fmt::format("{}", static_cast<int>(tensor.as<int8_t>()[i]));
    case DType::u8: return fmt::format("{}", static_cast<int>(tensor.as<uint8_t>()[i]));
    case DType::i32: return fmt::format("{}", tensor.as<int32_t>()[i]);
    case DType::i64: return fmt::format("{}", tensor.as<int64_t>()[i]);
    case DType::f64: return FloatText(tensor.as<double>()[i], full);
    default: return FloatText(static_cast<float>(ElementAsDouble(tensor, i)), full);
  }
}

class Printer {
 public:
  explicit Printer(const Tensor& tensor)
      : tensor_(tensor), cut_(tensor.elements() > kShownInFull) {}

  std::string Print() {
    if (tensor_.rank == 0) return ElementText(tensor_, 0, true);
    if (tensor_.elements() == 0) return "[]";
    Walk(0, 0, [this](int64_t i) { width_ = std::max(width_, Element(i).size()); });
    Append(0, 0);
    return std::move(text_);
  }

 private:
  std::string Element(int64_t i) const { return ElementText(tensor_, i, false); }
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
