// Elements are appended as they are read; the length of the first list of a depth fixes that
// dimension, and every later one must agree.
#include "runtime/command/inputs/inputs.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include <fmt/format.h>

#include "runtime/base/text.h"
#include "runtime/device/kernel.h"
#include "runtime/device/numbers/half.h"
#include "runtime/plan/kinds.h"

namespace cgraph::command {
namespace {

using plan::DType;

constexpr int64_t kUnknown = -1;

class LiteralParser {
 public:
  LiteralParser(std::string_view text, DType dtype) : text_(text) { array_.dtype = dtype; }

  Result<files::Array> Parse() {
    CGRAPH_RETURN_IF_ERROR(Value(0));
    Space();
    if (at_ != text_.size()) return Wrong("the end is expected");
    // Below an empty list nothing says how deep the nesting would have gone.
    for (int64_t& dim : array_.dims) {
      if (dim == kUnknown) dim = 0;
    }
    return std::move(array_);
  }

 private:
  Status Wrong(const std::string& why) const {
    return {StatusCode::kInvalid, fmt::format("at character {} of `{}`: {}", at_ + 1,
                                              text_.substr(0, 60), why)};
  }
  void Space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool Take(char c) {
    Space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  Status Value(size_t depth) {
    if (!Take('[')) {
      if (depth != array_.dims.size()) return Wrong("a list is expected, as in the rows before");
      return Element();
    }
    if (depth == array_.dims.size()) {
      if (!array_.bytes.empty()) return Wrong("a number is expected, as before");
      if (depth == kMaxRank) {
        return Wrong(fmt::format("tensors have at most {} dimensions", kMaxRank));
      }
      array_.dims.push_back(kUnknown);
    }
    int64_t count = 0;
    while (!Take(']')) {
      if (count > 0 && !Take(',')) return Wrong("`,` or `]` is expected");
      CGRAPH_RETURN_IF_ERROR(Value(depth + 1));
      ++count;
    }
    if (array_.dims[depth] == kUnknown) array_.dims[depth] = count;
    if (array_.dims[depth] == count) return Status::Ok();
    return Wrong(fmt::format("this list has {}, those before it have {}", Counted(count, "element"),
                             array_.dims[depth]));
  }

  Status Element() {
    Space();
    size_t end = at_;
    while (end < text_.size() && std::strchr("[], \n", text_[end]) == nullptr) ++end;
    const std::string_view word = text_.substr(at_, end - at_);
    if (word.empty()) return Wrong(fmt::format("there is no {}", plan::DTypeName(array_.dtype)));
    Status status;
    switch (array_.dtype) {
      case DType::bool_: status = Bool(word); break;
      case DType::i8: status = Number<int8_t>(word); break;
      case DType::u8: status = Number<uint8_t>(word); break;
      case DType::i32: status = Number<int32_t>(word); break;
      case DType::i64: status = Number<int64_t>(word); break;
      case DType::f16: status = Half<device::F16>(word); break;
      case DType::bf16: status = Half<device::BF16>(word); break;
      case DType::f32: status = Number<float>(word); break;
      case DType::f64: status = Number<double>(word); break;
    }
    if (status.ok()) at_ = end;
    return status;
  }

  template <typename T>
  void Append(T value) {
    const size_t before = array_.bytes.size();
    array_.bytes.resize(before + sizeof(T));
    std::memcpy(array_.bytes.data() + before, &value, sizeof(T));
  }
  Status Bool(std::string_view word) {
    const bool yes = word == "true" || word == "True" || word == "1";
    if (!yes && word != "false" && word != "False" && word != "0") {
      return Wrong(fmt::format("`{}` is no bool, which is true or false", word));
    }
    Append(static_cast<uint8_t>(yes));
    return Status::Ok();
  }
  template <typename T>
  Status Number(std::string_view word) {
    T value = 0;
    CGRAPH_RETURN_IF_ERROR(Read(word, value));
    Append(value);
    return Status::Ok();
  }
  // Parses an f16 or bf16; the value is rounded once, to nearest even.
  template <typename T>
  Status Half(std::string_view word) {
    double value = 0;
    CGRAPH_RETURN_IF_ERROR(Read(word, value));
    const T half(value);
    if (std::isfinite(value) && std::isinf(static_cast<float>(half))) return Outside(word);
    Append(half);
    return Status::Ok();
  }
  Status Outside(std::string_view word) const {
    return Wrong(fmt::format("`{}` is outside of {}", word, plan::DTypeName(array_.dtype)));
  }
  template <typename T>
  Status Read(std::string_view word, T& value) const {
    const char* first = word.data() + (word[0] == '+' ? 1 : 0);
    const auto [end, error] = std::from_chars(first, word.data() + word.size(), value);
    if (error == std::errc::result_out_of_range) return Nearest(word, value);
    if (error != std::errc() || end != word.data() + word.size()) return NotANumber(word);
    return Status::Ok();
  }
  // Rounds a number that is too small for its type, which from_chars does not tell from one that is
  // too large.
  template <typename T>
  Status Nearest(std::string_view word, T& value) const {
    if constexpr (std::is_floating_point_v<T>) {
      const double nearest = std::strtod(std::string(word).c_str(), nullptr);
      if (std::abs(nearest) < 1) {
        value = static_cast<T>(nearest);
        return Status::Ok();
      }
    }
    return Outside(word);
  }
  Status NotANumber(std::string_view word) const {
    const std::string_view dtype = plan::DTypeName(array_.dtype);
    if (word[0] == '(') return Wrong("a list is written in brackets: [[1,10]]");
    double fraction = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), fraction);
    if (!plan::IsFloat(array_.dtype) && error == std::errc() && end == word.data() + word.size()) {
      return Wrong(fmt::format("`{}` is no {}, which is a whole number written in digits", word,
                               dtype));
    }
    return Wrong(fmt::format("`{}` is no {}", word, dtype));
  }

  std::string_view text_;
  size_t at_ = 0;
  files::Array array_;
};

}  // namespace

Result<files::Array> ParseLiteral(std::string_view text, DType dtype) {
  return LiteralParser(text, dtype).Parse();
}

}  // namespace cgraph::command
