// Palette: light fills that black text stands on, one for each family of operations. The colours
// are Paul Tol's "light" scheme, which colour-blind people tell apart; everything important is also
// shown by a word or a shape. Pictures have a white ground of their own, so they look the same on a
// dark page.
#ifndef CGRAPH_COMPILER_INSPECT_DRAW_PALETTE_H_
#define CGRAPH_COMPILER_INSPECT_DRAW_PALETTE_H_

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace cgraph {

// The style of a dot node that moved against program order: red, with a double border.
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

// Mixed with black, so little that black text can still be read on it.
inline std::string Darker(const std::string& color, double shade) {
  constexpr double kMost = 0.3;
  if (shade <= 0 || color.size() != 7) return color;
  std::string mixed = "#";
  for (size_t at = 1; at < color.size(); at += 2) {
    const int part = std::stoi(color.substr(at, 2), nullptr, 16);
    mixed += fmt::format("{:02x}", static_cast<int>(part * (1 - kMost * shade)));
  }
  return mixed;
}

// What a legend shows for a shade, whatever the colour.
inline std::string ShadeSample(double shade) { return Darker("#e4e4e4", shade); }

class Palette {
 public:
  // Gives the first of the families the colours; or all micro-batches, by turns, and nothing else.
  explicit Palette(const std::vector<std::string>& families, bool by_micro_batch = false) {
    static constexpr const char* kColors[] = {"#77aadd", "#ffaabb", "#44bb99", "#ee8866",
                                              "#99ddff", "#bbcc33", "#aaaa00"};
    std::vector<std::string> colored;
    for (const std::string& family : families) {
      const bool may_have_one = !by_micro_batch || family.starts_with("mb ");
      if (!Fixed(family) && may_have_one) colored.push_back(family);
    }
    for (size_t i = 0; i < colored.size(); ++i) {
      if (by_micro_batch) {
        colors_[colored[i]] = MicroBatchColor(i, colored.size());
      } else if (i < std::size(kColors)) {
        colors_[colored[i]] = kColors[i];
      }
    }
  }

  // Darker by its shade, from 0 to 1.
  std::string ColorOf(const std::string& family, double shade) {
    return Darker(ColorOf(family), shade);
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
  // Returns the families whose colour was asked for, in that order; a family without a colour is
  // "others".
  const std::vector<std::string>& families() const { return used_; }

 private:
  // Twelve hues, so far apart in turn that neighbours do not look alike; of more micro-batches they
  // come round again, but the last is never that of the first.
  static const char* MicroBatchColor(size_t index, size_t count) {
    static constexpr const char* kHues[] = {"#8ab8e6", "#f7c56b", "#f2a3c7", "#8fd694",
                                            "#c9a9e9", "#f4e27a", "#8bdcd5", "#f0a08a",
                                            "#b3c2ff", "#c6d96f", "#e3b9a0", "#a8e6f0"};
    constexpr size_t kCount = std::size(kHues);
    const size_t turn = count > 1 && (count - 1) % kCount == 0 ? kCount - 1 : kCount;
    return kHues[index % turn];
  }

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
