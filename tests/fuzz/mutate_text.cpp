// Programs changed in the way in which programs differ: whole tokens, bracketed pieces and lines
// are replaced, doubled, removed and moved, and numbers become the ones at which things break. Half
// of the changes are libFuzzer's own, which knows bytes and the words of its dictionary.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using Tokens = std::vector<std::string_view>;

bool IsWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Cuts a text into words, strings, runs of space, and single characters: joined, they are the text
// again.
Tokens Cut(std::string_view text) {
  Tokens tokens;
  while (!text.empty()) {
    size_t size = 1;
    if (IsWord(text[0])) {
      while (size < text.size() && IsWord(text[size])) ++size;
    } else if (text[0] == ' ' || text[0] == '\n') {
      while (size < text.size() && (text[size] == ' ' || text[size] == '\n')) ++size;
    } else if (text[0] == '"') {
      const size_t end = text.find_first_of("\"\n", 1);
      size = end == std::string_view::npos ? text.size() : end + 1;
    }
    tokens.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return tokens;
}

// Returns the class of a token: it may be replaced by one of its class without a syntax error.
char Class(std::string_view token) {
  const char c = token[0];
  if (c >= '0' && c <= '9') return '0';
  if (IsWord(c)) return 'a';
  return std::strchr("+-*/%@<>", c) != nullptr ? '+' : c;
}

class Mutator {
 public:
  Mutator(std::string_view text, unsigned seed) : random_(seed), tokens_(Cut(text)) {}

  std::string Change() {
    for (size_t changes = 1 + Below(3); changes > 0 && !tokens_.empty(); --changes) ChangeOnce();
    return Text();
  }

  // Puts a piece of the other text in before one of our tokens.
  std::string Cross(std::string_view other) {
    const Tokens theirs = Cut(other);
    if (tokens_.empty() || theirs.empty()) return Text();
    const size_t begin = Below(theirs.size());
    const size_t end = PieceEnd(theirs, begin);
    tokens_.insert(tokens_.begin() + Below(tokens_.size()), theirs.begin() + begin,
                   theirs.begin() + end);
    return Text();
  }

 private:
  size_t Below(size_t limit) { return random_() % limit; }

  std::string Text() const {
    std::string text;
    for (std::string_view token : tokens_) text += token;
    return text;
  }

  // Returns the position past the bracket that belongs to the one at `begin`, or past the end of
  // the line.
  size_t PieceEnd(const Tokens& tokens, size_t begin) {
    int depth = 0;
    for (size_t i = begin; i < tokens.size(); ++i) {
      const char c = tokens[i][0];
      if (c == '(' || c == '[' || c == '{') ++depth;
      if (c == ')' || c == ']' || c == '}') --depth;
      if (depth < 0 || (depth == 0 && i > begin && tokens[i].find('\n') != tokens[i].npos)) {
        return i;
      }
      if (depth == 0 && i > begin && (c == ')' || c == ']' || c == '}')) return i + 1;
    }
    return tokens.size();
  }

  void ChangeOnce() {
    static constexpr std::string_view kNumbers[] = {
        "0", "1", "2", "3", "7", "8", "64", "255", "65536", "4294967296", "9223372036854775807",
        "1000000000000", "0.5", "1e308", "-1"};
    const size_t at = Below(tokens_.size());
    const size_t end = PieceEnd(tokens_, at);
    switch (Below(7)) {
      case 0: tokens_.erase(tokens_.begin() + at, tokens_.begin() + end); break;
      case 1: {
        const Tokens piece(tokens_.begin() + at, tokens_.begin() + end);
        tokens_.insert(tokens_.begin() + Below(tokens_.size()), piece.begin(), piece.end());
        break;
      }
      case 2: tokens_.erase(tokens_.begin() + at); break;
      case 3: std::swap(tokens_[at], tokens_[Below(tokens_.size())]); break;
      default: {
        // The usual case: a token for another one of its class.
        if (Class(tokens_[at]) == '0' && Below(2) == 0) {
          tokens_[at] = kNumbers[Below(std::size(kNumbers))];
          break;
        }
        for (size_t tries = 0; tries < 30; ++tries) {
          const std::string_view other = tokens_[Below(tokens_.size())];
          if (Class(other) != Class(tokens_[at]) || other == tokens_[at]) continue;
          tokens_[at] = other;
          break;
        }
      }
    }
  }

  std::minstd_rand random_;
  Tokens tokens_;
};

size_t Store(const std::string& text, uint8_t* data, size_t max_size) {
  const size_t size = std::min(text.size(), max_size);
  std::memcpy(data, text.data(), size);
  return size;
}

std::string_view View(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  if (seed % 2 == 0) return LLVMFuzzerMutate(data, size, max_size);
  return Store(Mutator(View(data, size), seed).Change(), data, max_size);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* one, size_t one_size,
                                            const uint8_t* other, size_t other_size, uint8_t* out,
                                            size_t max_size, unsigned seed) {
  const std::string text = Mutator(View(one, one_size), seed).Cross(View(other, other_size));
  return Store(text, out, max_size);
}
