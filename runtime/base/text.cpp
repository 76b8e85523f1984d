#include "runtime/base/text.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <vector>

#include <fmt/format.h>

namespace cgraph {

std::string TimeText(uint64_t picoseconds) {
  constexpr const char* kUnits[] = {"ps", "ns", "us", "ms", "s"};
  uint64_t scale = 1;
  size_t unit = 0;
  while (unit + 1 < std::size(kUnits) && picoseconds / scale >= 1000) {
    scale *= 1000;
    ++unit;
  }
  std::string number = std::to_string(picoseconds / scale);
  if (scale > 1) {
    const uint64_t thousandths = picoseconds % scale / (scale / 1000);
    number += fmt::format(".{:03}", thousandths);
    number.erase(number.find_last_not_of('0') + 1);
    number.erase(number.find_last_not_of('.') + 1);
  }
  return number + " " + kUnits[unit];
}

std::string LoaderFoldersText() {
  const char* paths = std::getenv("LD_LIBRARY_PATH");
  return fmt::format("LD_LIBRARY_PATH ({}), the system's folders",
                     paths == nullptr || *paths == 0 ? "not set" : paths);
}

std::string BytesText(uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double number = static_cast<double>(bytes);
  size_t unit = 0;
  for (; unit + 1 < std::size(kUnits) && number >= 1024; ++unit) {
    number /= 1024;
  }
  std::string text = fmt::format("{:.1f}", number);
  if (text.ends_with(".0")) {
    text.resize(text.size() - 2);
  }
  return text + " " + kUnits[unit];
}

std::string Counted(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string Quoted(std::string_view text) { return '"' + Escaped(text) + '"'; }

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    switch (c) {
      case '"': escaped += "\\\""; break;
      case '\\': escaped += "\\\\"; break;
      case '\n': escaped += "\\n"; break;
      case '\t': escaped += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          escaped += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
          escaped += c;
        }
    }
  }
  return escaped;
}

namespace {

// Names longer than this are compared by their beginnings only, so that a megabyte-long name costs
// nothing.
constexpr size_t kMaxCompared = 64;

bool SameButForCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

}  // namespace

// A swap of two neighbours counts as one mistake: `fro` for `for` is as likely a slip as `forr`.
size_t EditDistance(std::string_view a, std::string_view b) {
  a = a.substr(0, kMaxCompared);
  b = b.substr(0, kMaxCompared);
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::string JoinLines(std::span<const std::string> lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::vector<std::string> SplitLines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

namespace {

// Returns the only candidate that begins with all of `name`: `--out`, `transp`.
std::string Completed(std::string_view name, std::span<const std::string> candidates) {
  constexpr size_t kLeast = 5;
  std::string whole;
  for (const std::string& candidate : candidates) {
    if (name.size() < kLeast || !candidate.starts_with(name) || candidate == name) continue;
    if (!whole.empty() && whole != candidate) return "";
    whole = candidate;
  }
  return whole;
}

}  // namespace

std::string DidYouMean(std::string_view name, std::span<const std::string> candidates) {
  size_t best = std::min<size_t>((name.size() + 2) / 3, 3);  // `flt` is none of `int`
  if (name.size() < 3) best = name.size();  // `x` is no misspelling of `y`
  std::string nearest;
  for (const std::string& candidate : candidates) {
    if (candidate == name) continue;
    if (SameButForCase(name, candidate)) return candidate;
    const size_t distance = EditDistance(name, candidate);
    if (distance < best || (distance == best && nearest.empty() && name.size() >= 3)) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest.empty() ? Completed(name, candidates) : nearest;
}

std::string DidYouMeanHint(std::string_view name, std::span<const std::string> candidates) {
  const std::string nearest = DidYouMean(name, candidates);
  return nearest.empty() ? "" : " (did you mean `" + nearest + "`?)";
}

std::string RangesText(std::span<const uint32_t> numbers, std::string_view before,
                       std::string_view after) {
  std::string text;
  const auto add = [&](const char* joint, uint32_t number) {
    if (!text.empty()) text += joint;
    text.append(before).append(std::to_string(number)).append(after);
  };
  for (size_t first = 0, end = 0; first < numbers.size(); first = end) {
    end = first + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    add(", ", numbers[first]);
    if (end - first > 1) add(end - first == 2 ? ", " : " to ", numbers[end - 1]);
  }
  return text;
}

std::string PatternOf(std::string_view text) {
  std::string shape;
  for (size_t at = 0; at < text.size(); ++at) {
    shape += text[at];
    if (text[at] != '[' && text[at] != '(') continue;
    const size_t end = std::min(text.find_first_not_of("0123456789-, ", at + 1), text.size());
    if (end == at + 1 || end == text.size() || text[end] != (text[at] == '[' ? ']' : ')')) continue;
    shape += '#';
    at = end - 1;
  }
  return shape;
}

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
