// Colours: light fills that black text stands on, one for each family of operations.
#ifndef CGRAPH_COMPILER_INSPECT_DRAW_PALETTE_H_
#define CGRAPH_COMPILER_INSPECT_DRAW_PALETTE_H_

#include <map>
#include <string>
#include <vector>

namespace cgraph {

// Of a dot node that moved against program order.
inline constexpr const char* kMovedStyle = ", color=\"#d62728\", fontcolor=\"#d62728\", penwidth=2";
inline constexpr const char* kMeetingColor = "#e6550d";
inline constexpr const char* kTransferColor = "#fdd49e";
inline constexpr const char* kHostColor = "#e0e0e0";      // inputs, outputs, copies
inline constexpr const char* kFaint = "#8a8a8a";

// Families in the order in which they were first asked for.
class Palette {
 public:
  const std::string& ColorOf(const std::string& family) {
    const auto [it, fresh] = colors_.insert({family, ""});
    if (fresh) {
      it->second = family == "transfer"                              ? kTransferColor
                   : family == "copy" || family == "input and output" ? kHostColor
                                                                       : Next();
      families_.push_back(family);
    }
    return it->second;
  }
  const std::vector<std::string>& families() const { return families_; }

 private:
  const char* Next() {
    static constexpr const char* kColors[] = {"#9ecae1", "#a1d99b", "#bcbddc", "#fcbba1",
                                              "#c7e9b4", "#fde0dd", "#d0d1e6", "#ccece6"};
    return kColors[used_++ % std::size(kColors)];
  }

  size_t used_ = 0;
  std::map<std::string, std::string> colors_;
  std::vector<std::string> families_;
};

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_DRAW_PALETTE_H_
