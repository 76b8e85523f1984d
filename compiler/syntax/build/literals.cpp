#include "compiler/syntax/build/literals.h"

#include <charconv>
#include <cmath>

namespace cgraph::syntax {
namespace {

std::string WithoutSeparators(llvm::StringRef text) {
  std::string digits;
  for (char c : text) {
    if (c != '_') digits += c;
  }
  return digits;
}

class StringDecoder {
 public:
  StringDecoder(llvm::StringRef text, uint32_t begin, SyntaxErrors& errors)
      : text_(text), begin_(begin), errors_(errors) {}

  DecodedString Run() {
    decoded_.texts.emplace_back();
    at_ = 1;
    while (at_ < text_.size() && text_[at_] != '"') Step();
    if (at_ >= text_.size()) {
      errors_.ReportStructure(Code::kE0208, begin_, End(text_.size()),
                              "this string is not closed; it ends with `\"` on its own line");
    }
    return std::move(decoded_);
  }

 private:
  uint32_t End(size_t at) const { return begin_ + static_cast<uint32_t>(at); }

  void Step() {
    const char c = text_[at_];
    const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    if (c == '\\') {
      Escape(next);
    } else if ((c == '{' || c == '}') && next == c) {
      decoded_.texts.back() += c;
      at_ += 2;
    } else if (c == '{') {
      Hole();
    } else if (c == '}') {
      errors_.Report(Code::kE0209, End(at_), End(at_ + 1),
                     "a `}` that closes nothing; in a string a brace is written `}}`");
      ++at_;
    } else {
      decoded_.texts.back() += c;
      ++at_;
    }
  }

  void Escape(char c) {
    static constexpr llvm::StringLiteral kLetters = "ntr\\\"";
    static constexpr llvm::StringLiteral kMeanings = "\n\t\r\\\"";
    const size_t which = kLetters.find(c);
    if (at_ + 1 == text_.size()) {  // the literal's very last byte: it is not closed
    } else if (which == llvm::StringRef::npos) {
      errors_.Report(Code::kE0209, End(at_), End(at_ + 2),
                     "there is no such escape; there are \\n \\t \\r \\\\ and \\\"");
    } else {
      decoded_.texts.back() += kMeanings[which];
    }
    at_ += 2;
  }

  void Hole() {
    const size_t opened = at_;
    size_t depth = 0;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"' || text_[at_] == '\\') break;
      if (text_[at_] == '{') ++depth;
      if (text_[at_] == '}' && --depth == 0) break;
    }
    if (at_ >= text_.size() || text_[at_] != '}') {
      Diagnostic& diagnostic = errors_.Report(
          Code::kE0209, End(opened), End(opened + 1),
          "the expression that begins here does not end in this string; a brace is written `{{`");
      if (at_ < text_.size() && text_[at_] == '\\') {
        diagnostic.AddNote(errors_.At(End(at_), End(at_ + 1)),
                           "an expression inside a string cannot contain a string");
      }
      while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
      return;
    }
    decoded_.holes.push_back({End(opened + 1), End(at_)});
    decoded_.texts.emplace_back();
    ++at_;
  }

  llvm::StringRef text_;
  const uint32_t begin_;
  SyntaxErrors& errors_;
  DecodedString decoded_;
  size_t at_ = 0;
};

}  // namespace

std::optional<uint64_t> DecodeInt(llvm::StringRef text) {
  const std::string digits = WithoutSeparators(text);
  llvm::StringRef rest = digits;
  const unsigned radix = rest.consume_front_insensitive("0x") ? 16 : 10;
  uint64_t value = 0;
  if (rest.empty() || rest.getAsInteger(radix, value)) return std::nullopt;
  return value;
}

std::optional<double> DecodeFloat(llvm::StringRef text) {
  const std::string digits = WithoutSeparators(text);
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range) {
    // A number that is too small is zero, which is what a reader expects of 1e-400; one that is too
    // large is an error.
    if (digits.find("e-") != std::string::npos || digits.find("E-") != std::string::npos) {
      return 0.0;
    }
    return std::nullopt;
  }
  if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

DecodedString DecodeString(llvm::StringRef text, uint32_t begin, SyntaxErrors& errors) {
  return StringDecoder(text, begin, errors).Run();
}

}  // namespace cgraph::syntax
