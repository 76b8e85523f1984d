// Lanes of communication: how many lanes a device has for its exchanges with others.
#ifndef CGRAPH_RUNTIME_BASE_KINDS_COMM_LANES_H_
#define CGRAPH_RUNTIME_BASE_KINDS_COMM_LANES_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

namespace cgraph {

// One; one for each other device; or one out and one in for each. More lanes hold less back, but a
// machine has more to keep going.
enum class CommLanes : uint8_t { kOne, kPeer, kEdge };
// By CommLanes: the values of --lanes.
inline constexpr const char* kCommLanesNames[] = {"one", "peer", "edge"};

constexpr const char* CommLanesName(CommLanes lanes) {
  return kCommLanesNames[static_cast<size_t>(lanes)];
}

// Nothing where `text` names no number of lanes.
constexpr std::optional<CommLanes> ParseCommLanes(std::string_view text) {
  for (size_t i = 0; i < std::size(kCommLanesNames); ++i) {
    if (text == kCommLanesNames[i]) return static_cast<CommLanes>(i);
  }
  return std::nullopt;
}

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_BASE_KINDS_COMM_LANES_H_
