#include "runtime/base/terminal.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>

namespace cgraph {
namespace {

// What is not shown as itself, by first and last code point, in order. Joiners (200c, 200d) are not
// among them: some scripts are not written without.
struct CodePoints {
  uint32_t first, last;
};
constexpr CodePoints kNotShown[] = {
    {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},         // control characters, soft hyphen
    {0x61c, 0x61c},   {0x180e, 0x180e}, {0x200b, 0x200b},     // Arabic mark, spaces without a width
    {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},     // line ends, marks of direction
    {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff},   // byte order, annotations, tags
};

bool IsShown(uint32_t code_point) {
  const auto* range =
      std::lower_bound(std::begin(kNotShown), std::end(kNotShown), code_point,
                       [](const CodePoints& each, uint32_t point) { return each.last < point; });
  return range == std::end(kNotShown) || code_point < range->first;
}

// Reads the character that a text begins with. Returns its bytes; 0 where they are no UTF-8.
size_t ReadCharacter(std::string_view text, uint32_t& code_point) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const size_t length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (length == 0 || lead > 0xf4 || length > text.size()) return 0;
  code_point = length == 1 ? lead : lead & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code_point = code_point << 6 | (byte(i) & 0x3fu);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};  // less has a shorter form
  const bool surrogate = code_point >= 0xd800 && code_point <= 0xdfff;
  return code_point < kLeast[length] || code_point > 0x10ffff || surrogate ? 0 : length;
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    uint32_t code_point = 0;
    const size_t length = ReadCharacter(text.substr(i), code_point);
    if (text[i] == '\n' || text[i] == '\t') {
      shown += text[i] == '\n' ? '\n' : ' ';
    } else if (length == 0 || !IsShown(code_point)) {
      shown += '?';
    } else {
      shown += text.substr(i, length);
    }
    i += std::max<size_t>(length, 1);
  }
  return shown;
}

void Say(std::string_view text) {
  const std::string shown = Printable(text);
  std::fwrite(shown.data(), 1, shown.size(), stderr);
}

std::string ForStandardOutput(std::string_view text) {
  return isatty(STDOUT_FILENO) != 0 ? Printable(text) : std::string(text);
}

}  // namespace cgraph
