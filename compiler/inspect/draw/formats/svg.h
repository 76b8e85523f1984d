// The pieces of the pictures over time that are SVG of our own: text, boxes, a time axis, a legend.
#ifndef CGRAPH_COMPILER_INSPECT_DRAW_FORMATS_SVG_H_
#define CGRAPH_COMPILER_INSPECT_DRAW_FORMATS_SVG_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cgraph {

inline constexpr double kFont = 11;

// What a text takes at the ordinary size, on average.
double TextWidth(std::string_view text);
// As much of its beginning as fits, at least two letters and a mark for the rest; else "".
std::string FittedText(std::string_view text, double width);
double BlockWidth(std::string_view text);  // of its longest line

// `style` is more attributes. The text is made harmless.
std::string SvgText(double x, double y, std::string_view text, std::string_view style = "");
std::string SvgRect(double x, double y, double width, double height, std::string_view style);
// What a reader can point at, with what is told then.
std::string SvgItem(std::string_view told, const std::string& content);
std::string FilledStyle(std::string_view color, bool border = true);

// Picoseconds on a horizontal line.
class TimeAxis {
 public:
  TimeAxis(uint64_t end, double left, double width) : end_(end), left_(left), width_(width) {}
  double X(uint64_t time) const;
  double left() const { return left_; }
  double width() const { return width_; }
  // Dotted lines from `top` to `bottom` at round times, which stand below.
  std::string Grid(double top, double bottom) const;

 private:
  uint64_t end_;
  double left_, width_;
};

// Samples (as a style of their box) and what they mean, in lines of at most `width`.
struct SvgBlock {
  std::string svg;
  double height = 0;
};
SvgBlock SvgLegend(const std::vector<std::pair<std::string, std::string>>& entries, double left,
                   double top, double width);

inline constexpr double kSvgTop = 44, kSvgMargin = 16, kSvgRight = 60;
// The time axis of a page of this width, which begins at `left`.
double AxisWidthFor(double page, double left);
// The same picture, drawn so many pixels wide: its letters shrink with it.
std::string SvgOfWidth(std::string svg, double width);
// A page with a heading; `body` begins below kSvgTop. Of a page whose width is fixed the heading
// shrinks to fit.
std::string SvgPage(const std::string& title, double width, double height,
                    const std::string& body, bool is_fixed = false);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_DRAW_FORMATS_SVG_H_
