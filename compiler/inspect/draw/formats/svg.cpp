#include "compiler/inspect/draw/formats/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "compiler/inspect/draw/formats/text.h"
#include "compiler/inspect/draw/palette.h"
#include "runtime/base/text.h"

namespace cgraph {

namespace {
constexpr double kCharacter = 6.4;  // the width of one
}  // namespace

double TextWidth(std::string_view text) {
  const auto characters = std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
  });
  return kCharacter * static_cast<double>(characters);
}

std::string FittedText(std::string_view text, double width) {
  if (TextWidth(text) <= width) return std::string(text);
  constexpr size_t kLeastLetters = 4, kMostBytes = 4;  // of a character
  // A name may be a thousand times as long as what fits.
  const size_t most = kMostBytes * static_cast<size_t>(std::max(width, 0.0) / kCharacter + 2);
  for (size_t letters = std::min(text.size(), most); letters-- > kLeastLetters;) {
    std::string cut = Shortened(text, letters + 1);
    if (TextWidth(cut) <= width) return cut;
  }
  return "";
}

double BlockWidth(std::string_view text) {
  double width = 0;
  for (size_t from = 0; from <= text.size();) {
    const size_t end = std::min(text.find('\n', from), text.size());
    width = std::max(width, TextWidth(text.substr(from, end - from)));
    from = end + 1;
  }
  return width;
}

std::string SvgText(double x, double y, std::string_view text, std::string_view style) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}{}>{}</text>\n", x, y,
                     style.empty() ? "" : " ", style, XmlText(text));
}

std::string SvgRect(double x, double y, double width, double height, std::string_view style) {
  return fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" {}/>\n", x,
                     y, width, height, style);
}

std::string SvgItem(std::string_view told, const std::string& content) {
  return fmt::format("<g class=\"node\"><title>{}</title>\n{}</g>\n", XmlText(told), content);
}

std::string FilledStyle(std::string_view color, bool border) {
  if (!border) return fmt::format("fill=\"{}\"", color);
  return fmt::format("fill=\"{}\" stroke=\"{}\" stroke-width=\"0.6\"", color, kBorder);
}

double TimeAxis::X(uint64_t time) const {
  return end_ == 0 ? left_
                   : left_ + width_ * (static_cast<double>(time) / static_cast<double>(end_));
}

// Draws ticks at 1, 2 or 5 times a power of ten, as many as their labels leave room for.
std::string TimeAxis::Grid(double top, double bottom) const {
  const double most = std::max(2.0, width_ / 90);
  const double end = static_cast<double>(end_);
  uint64_t step = 1;
  for (uint64_t power = 1; end / static_cast<double>(step) > most; power *= 10) {
    for (uint64_t times : {2, 5, 10}) {
      step = power * times;
      if (end / static_cast<double>(step) <= most) break;
    }
  }
  std::string svg;
  for (uint64_t tick = 0; tick <= end_ / step; ++tick) {
    const double x = X(tick * step);
    svg += fmt::format(
        "<line x1=\"{0:.2f}\" y1=\"{1:.1f}\" x2=\"{0:.2f}\" y2=\"{2:.1f}\" stroke=\"#cccccc\" "
        "stroke-dasharray=\"2,3\"/>\n",
        x, top, bottom);
    svg += SvgText(x, bottom + 16, TimeText(tick * step),
                   fmt::format("text-anchor=\"middle\" fill=\"{}\"", kFaint));
  }
  return svg;
}

namespace {

// The entries of a legend; samples that look alike are one entry.
using LegendEntries = std::vector<std::pair<std::string, std::string>>;
LegendEntries OnePerSample(const LegendEntries& entries) {
  LegendEntries merged;
  for (const auto& [style, text] : entries) {
    const auto known = std::find_if(merged.begin(), merged.end(),
                                    [&](const auto& entry) { return entry.first == style; });
    if (known == merged.end()) {
      merged.emplace_back(style, text);
    } else {
      known->second += ", " + text;
    }
  }
  return merged;
}

}  // namespace

SvgBlock SvgLegend(const std::vector<std::pair<std::string, std::string>>& entries, double left,
                   double top, double width) {
  constexpr double kBox = 12, kLine = 20, kAfterBox = 17, kBetween = 18;
  SvgBlock legend;
  double x = left, y = top;
  for (const auto& [style, text] : OnePerSample(entries)) {
    const double needed = kAfterBox + TextWidth(text);
    if (x > left && x + needed > left + width) {
      x = left;
      y += kLine;
    }
    legend.svg += SvgRect(x, y, kBox, kBox, style) + SvgText(x + kAfterBox, y + 10, text);
    x += needed + kBetween;
  }
  legend.height = y - top + kLine;
  return legend;
}

double AxisWidthFor(double page, double left) {
  constexpr double kLeast = 100;
  return std::max(page - left - kSvgRight, kLeast);
}

std::string SvgOfWidth(std::string svg, double width) {
  const size_t head = svg.find("<svg");
  if (head == std::string::npos) return svg;
  const auto number = [&](const char* attribute) -> std::pair<size_t, size_t> {
    const size_t at = svg.find(attribute, head);
    if (at == std::string::npos) return {at, at};
    const size_t begin = at + std::string_view(attribute).size();
    return {begin, svg.find('"', begin)};
  };
  const auto [from, to] = number(" width=\"");
  if (from == std::string::npos || to == std::string::npos) return svg;
  const double factor = width / std::max(std::strtod(svg.c_str() + from, nullptr), 1.0);
  svg.replace(from, to - from, fmt::format("{:.0f}", width));
  const auto [top, bottom] = number(" height=\"");
  if (top == std::string::npos || bottom == std::string::npos) return svg;
  const double height = std::strtod(svg.c_str() + top, nullptr);
  return svg.replace(top, bottom - top, fmt::format("{:.0f}", factor * height));
}

std::string SvgPage(const std::string& title, double width, double height,
                    const std::string& body, bool is_fixed) {
  constexpr double kTitleCharacter = 8.4, kTitleFont = 15, kLeastFont = 9;
  const double needed = kTitleCharacter * static_cast<double>(title.size());
  const double fitting = kTitleFont * (width - 2 * kSvgMargin) / needed;
  const double font = is_fixed ? std::clamp(fitting, kLeastFont, kTitleFont) : kTitleFont;
  width = std::max(width, 2 * kSvgMargin + needed * font / kTitleFont);
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
             "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"Helvetica, Arial, sans-serif\" "
             "font-size=\"{2}\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
             width, height, kFont) +
         SvgText(kSvgMargin, 24, title, fmt::format("font-size=\"{:.3g}\"", font)) + body +
         "</svg>\n";
}

}  // namespace cgraph
