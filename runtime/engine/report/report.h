// The report of who waits for whom: what is known of each lane that has work left, and what is made
// of it for people. First come the causes: lanes that wait for no other, and that all others wait
// for, directly or not. Lanes that do alike are one entry, so that a report of a thousand devices
// can be read.
//
// Nothing here knows the engine; collect.h finds out what lanes do.
#ifndef CGRAPH_RUNTIME_ENGINE_REPORT_REPORT_H_
#define CGRAPH_RUNTIME_ENGINE_REPORT_REPORT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/kinds/logical_device.h"

namespace cgraph::engine {

// WaitingLane: a lane that has work left.
struct WaitingLane {
  enum class State : uint8_t { kRunning, kNext, kWaiting, kNotBegun };
  State state = State::kWaiting;
  std::string name;       // "gpu[1] compute"
  LogicalDevice device;
  std::string doing;      // the instruction in words, with its source line
  std::string call;       // its method: "stage[1].run"; empty: it is of none
  std::string site;       // "pipeline.cgraph:31:5"; empty: not known
  std::string why;        // "is running", "waits for gpu[0] compute to send it"
  std::string others;     // of a queue: which others may be what runs
  std::string execution;  // "execution 7 of `train`"
  std::string progress;   // of a queue: how much of what was issued is over
  std::string before;     // what the lane did last in the round; empty: nothing
  std::optional<double> seconds;  // that it has not moved; none: it just has
  std::vector<uint32_t> waits_for;  // indices of other lanes of the report

  // Of an engine with several ranks.
  uint32_t rank = 0;
  std::string process;    // "rank 1: process 123 on node7"; empty: there is one rank
  bool halted = false;    // the rank is stopped, or cannot be reached
};

// Causes: why nothing moves.
struct Causes {
  std::vector<uint32_t> roots;   // lanes that run, that are halted, or that wait for no other lane
  std::vector<uint32_t> circle;  // lanes of which each waits for the next, and the last for the
                                 // first; no proved plan has one
  // By lane: of waits to the nearest root; 0 in the circle, kNone where waits lead to no root.
  std::vector<uint32_t> distance;
  static constexpr uint32_t kNone = UINT32_MAX;
};
Causes FindCauses(std::span<const WaitingLane> lanes);

// Groups lanes that do alike: the same in the same execution, but for numbers in brackets and
// times. The lanes of a group are in the order of `among`, and so are groups, by their first lanes.
std::vector<std::vector<uint32_t>> GroupAlike(std::span<const WaitingLane> lanes,
                                              std::span<const uint32_t> among);

// Returns "gpu[0] to gpu[7], gpu[0] to gpu[7] of node[1] to node[127]".
std::string DevicesText(std::vector<LogicalDevice> devices);

// Returns the sentence about the causes, without a full stop.
std::string CausesText(std::span<const WaitingLane> lanes, const Causes& causes);
// Returns the sentence, the lines of `halted` (of ranks that do nothing, each with its end), and
// two lines or three for each group of lanes, those of causes first.
std::string ReportText(std::span<const WaitingLane> lanes, const std::string& halted);
// Returns two lines, or three, about lanes that do alike; each ends in a line break.
std::string LinesOf(std::span<const WaitingLane> lanes, std::span<const uint32_t> group);
// Returns the same as a drawing for Graphviz, with a frame for each rank.
std::string ReportDot(std::span<const WaitingLane> lanes);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_REPORT_REPORT_H_
