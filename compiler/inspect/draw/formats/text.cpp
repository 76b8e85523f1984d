#include "compiler/inspect/draw/formats/text.h"

#include <fmt/format.h>

#include "runtime/base/text.h"

namespace cgraph {

std::string Shortened(std::string_view text, size_t most) {
  std::string result;
  size_t characters = 0;  // in this line so far
  size_t last = 0;        // where the last one begins that a line has room for
  for (char c : text) {
    const bool begins = (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    if (c == '\n') {
      characters = 0;
    } else if (begins && ++characters == most) {
      last = result.size();
    } else if (begins && characters == most + 1) {
      result.replace(last, std::string::npos, "\u2026");
    }
    if (characters <= most) result += c;
  }
  return result;
}

std::string DotText(std::string_view text) { return Escaped(Printable(text)); }

std::string XmlText(std::string_view text) {
  std::string result;
  for (char c : Printable(text)) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      default: result += c;
    }
  }
  return result;
}

std::string DotHeading(std::string_view title, const std::vector<std::string>& legend) {
  std::string lines;
  for (const std::string& line : legend) lines += "<br/>" + XmlText(line);
  // A line as high as half of one keeps the title's letters off the legend.
  constexpr const char* kLegend =
      "<br/><font point-size=\"5\"> </font><font point-size=\"10\" color=\"#555555\">{}</font>";
  return fmt::format("<<font point-size=\"16\">{}</font>{}>", XmlText(title),
                     lines.empty() ? "" : fmt::format(kLegend, lines));
}

}  // namespace cgraph
