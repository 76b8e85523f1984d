// VectorClocks: what is known to be done when a unit starts, lane by lane, over endless repetition.
//
// A lane is in order, so "the latest unit of that lane that is done" says everything about it. A
// clock counts units through the rounds: unit i of a lane of n units is i in this round and i - n
// in the one before. Knowledge flows along lanes (around the end into the next round), along waits,
// and from the start of a send to the end of its receive, and of a collective's part to the ends of
// those into which it flows; never back from a receive to its send, since a carrier may buffer.
#ifndef CGRAPH_COMPILER_SCHEDULE_WAITS_VECTOR_CLOCKS_H_
#define CGRAPH_COMPILER_SCHEDULE_WAITS_VECTOR_CLOCKS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/schedule/ir.h"

namespace cgraph::schedule {

class VectorClocks {
 public:
  // Knows nothing yet.
  VectorClocks(const graph::Graph& graph, const Schedule& schedule);

  // Recomputes what is known when `unit` starts, from those it follows.
  void Update(UnitId unit);
  // Updates all units until nothing changes: afterwards all is known that the waits imply.
  void RunToFixpoint();

  // Whether `before` of every round is done when `after` of the round so many later starts.
  bool Before(UnitId before, UnitId after, int64_t rounds) const;
  // The latest unit of `lane`, by its number there, that is done when `after` of the round so many
  // later starts: negative ones are of rounds before, those from the lane's size on of later ones.
  // Nothing: none of those about which questions go.
  std::optional<int64_t> Latest(UnitId after, LaneId lane, int64_t rounds) const;

 private:
  // Merges what the one who owns `row` knew so many rounds before.
  void LearnRow(std::vector<int64_t>& clock, const int64_t* row, int64_t rounds) const;
  void FindJoints();
  int64_t* Row(UnitId unit) { return &known_[unit.index * lanes_]; }
  const int64_t* Row(UnitId unit) const { return &known_[unit.index * lanes_]; }
  void LearnStart(std::vector<int64_t>& clock, UnitId from, int64_t rounds) const;
  void LearnDone(std::vector<int64_t>& clock, UnitId from, int64_t rounds) const;
  void LearnParts(std::vector<int64_t>& clock, UnitId from, int64_t rounds) const;

  const graph::Graph& graph_;
  const Schedule& schedule_;
  size_t lanes_;
  int64_t reach_;  // how many rounds back questions go
  std::vector<int64_t> sizes_;  // units per lane
  std::vector<int64_t> known_;  // by unit and lane
  // Of a collective whose parts all flow into all, what any of them knows at its start: so each
  // part reads one row, and not those of all others. Knowledge only grows, and so does this.
  std::vector<uint32_t> joint_of_;     // by unit
  std::vector<int64_t> joint_known_;  // by joint and lane
  std::vector<int64_t> scratch_;
  bool changed_ = false;
};

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_WAITS_VECTOR_CLOCKS_H_
