// Colours: light fills that black text stands on, one for each family of operations. They are Paul
// Tol's "light" scheme, which colour-blind people tell apart; what matters is also said by a word
// or a shape. Pictures have a white ground of their own, so they look the same on a dark page.
#ifndef CGRAPH_COMPILER_INSPECT_DRAW_PALETTE_H_
#define CGRAPH_COMPILER_INSPECT_DRAW_PALETTE_H_

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace cgraph {

// Of a dot node that moved against program order: red, and with a double border.
inline constexpr const char* kMovedStyle =
    ", color=\"#c4001a\", fontcolor=\"#c4001a\", penwidth=1.6, peripheries=2";
inline constexpr const char* kAlarmColor = "#c4001a";
inline constexpr const char* kMeetingColor = "#997700";   // lines between the ends of a transfer
inline constexpr const char* kTransferColor = "#eedd88";
inline constexpr const char* kHostColor = "#dddddd";      // inputs, outputs, copies
inline constexpr const char* kStateColor = "#bbbbbb";     // and constants
inline constexpr const char* kOtherColor = "#ffffff";     // families beyond the colours
inline constexpr const char* kGround = "#f3f3f3";         // where nothing happens
inline constexpr const char* kBorder = "#666666";
inline constexpr const char* kFaint = "#8a8a8a";

class Palette {
 public:
  // The first of the families get the colours; or all micro-batches, by turns, and nothing else.
  explicit Palette(const std::vector<std::string>& families, bool by_micro_batch = false) {
    static constexpr const char* kColors[] = {"#77aadd", "#ffaabb", "#44bb99", "#ee8866",
                                              "#99ddff", "#bbcc33", "#aaaa00"};
    size_t used = 0;
    for (const std::string& family : families) {
      const bool gets_one = by_micro_batch ? family.rfind("mb ", 0) == 0
                                           : used < std::size(kColors);
      if (Fixed(family) || !gets_one) continue;
      colors_[family] = kColors[used++ % std::size(kColors)];
    }
  }

  std::string ColorOf(const std::string& family) {
    const auto found = colors_.find(family);
    const char* fixed = Fixed(family);
    const std::string color = fixed != nullptr         ? fixed
                              : found != colors_.end() ? found->second
                                                       : kOtherColor;
    const std::string& name = color == kOtherColor ? kOthers : family;
    if (std::find(used_.begin(), used_.end(), name) == used_.end()) used_.push_back(name);
    return color;
  }
  // Those whose colour was asked for, in that order; what has none is "others".
  const std::vector<std::string>& families() const { return used_; }

 private:
  static const char* Fixed(const std::string& family) {
    if (family == "transfer") return kTransferColor;
    if (family == "copy" || family == "input and output") return kHostColor;
    if (family == "state" || family == "constant") return kStateColor;
    return nullptr;
  }

  inline static const std::string kOthers = "others";
  std::map<std::string, std::string> colors_;
  std::vector<std::string> used_;
};

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_DRAW_PALETTE_H_
