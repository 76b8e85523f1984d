// Parts of the pictures over time that are SVG of our own: text, boxes, a time axis, a legend.
#ifndef CGRAPH_COMPILER_INSPECT_DRAW_FORMATS_SVG_H_
#define CGRAPH_COMPILER_INSPECT_DRAW_FORMATS_SVG_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cgraph {

inline constexpr double kFont = 11;

// Returns the average width of a text at the ordinary size.
double TextWidth(std::string_view text);
// Returns as much of the text's beginning as fits, at least two letters and a mark for the rest;
// else "".
std::string FittedText(std::string_view text, double width);
double BlockWidth(std::string_view text);  // of its longest line

// Returns a text element. `style` is more attributes. The text is escaped.
std::string SvgText(double x, double y, std::string_view text, std::string_view style = "");
std::string SvgRect(double x, double y, double width, double height, std::string_view style);
// Returns an element that a reader can point at, with the text that is shown then.
std::string SvgItem(std::string_view told, const std::string& content);
std::string FilledStyle(std::string_view color, bool border = true);

// TimeAxis: picoseconds on a horizontal line.
class TimeAxis {
 public:
  TimeAxis(uint64_t end, double left, double width) : end_(end), left_(left), width_(width) {}
  double X(uint64_t time) const;
  double left() const { return left_; }
  double width() const { return width_; }
  // Draws dotted lines from `top` to `bottom` at round times, which stand below.
  std::string Grid(double top, double bottom) const;

 private:
  uint64_t end_;
  double left_, width_;
};

// SvgBlock: a legend of samples (the style of a box) and what they mean, in lines of at most
// `width`.
struct SvgBlock {
  std::string svg;
  double height = 0;
};
SvgBlock SvgLegend(const std::vector<std::pair<std::string, std::string>>& entries, double left,
                   double top, double width);

inline constexpr double kSvgTop = 44, kSvgMargin = 16, kSvgRight = 60;
// Returns the width of the time axis on a page of this width, where the axis begins at `left`.
double AxisWidthFor(double page, double left);
// Returns the same picture, drawn that many pixels wide: its letters shrink with it.
std::string SvgOfWidth(std::string svg, double width);
// Returns a page with a heading; `body` begins below kSvgTop. On a page whose width is fixed the
// heading shrinks to fit.
std::string SvgPage(const std::string& title, double width, double height,
                    const std::string& body, bool is_fixed = false);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_DRAW_FORMATS_SVG_H_
