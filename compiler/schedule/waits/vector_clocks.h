// VectorClocks: what is known to be done when a unit starts, lane by lane, over endless repetition.
//
// A lane is in order, so "the latest unit of that lane that is done" says everything about it. A
// clock counts units through the rounds: unit i of a lane of n units is i in this round and i - n
// in the one before. Knowledge flows along lanes (around the end into the next round), along waits,
// and from the start of a send to the end of its receive, and of a collective's part to the ends of
// those into which it flows; never back from a receive to its send, since a transport may buffer.
#ifndef CGRAPH_COMPILER_SCHEDULE_WAITS_VECTOR_CLOCKS_H_
#define CGRAPH_COMPILER_SCHEDULE_WAITS_VECTOR_CLOCKS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/schedule/ir.h"
#include "compiler/schedule/waits/shared_clocks.h"

namespace cgraph::schedule {

class VectorClocks {
 public:
  // A clock that knows nothing yet.
  VectorClocks(const graph::Graph& graph, const Schedule& schedule);

  // Learns what is known when `unit` starts, from those it follows.
  void Update(UnitId unit);
  // The same from one wait of an updated unit.
  void LearnWait(UnitId unit, const Wait& wait);
  // Updates all units until nothing changes: afterwards everything is known that the waits imply.
  void RunToFixpoint();

  // Returns whether `before` of every round is done when `after` of the round `rounds` later
  // starts.
  bool Before(UnitId before, UnitId after, int64_t rounds) const;
  // Returns the latest unit of `lane`, by its number there, that is done when `after` of the round
  // `rounds` later starts: negative numbers are of earlier rounds, those from the lane's size on of
  // later ones. Nothing: none of the units that questions are about.
  std::optional<int64_t> Latest(UnitId after, LaneId lane, int64_t rounds) const;

 private:
  using Clock = SharedClocks::Clock;

  void FindJoints();
  // A clock, and when it last changed.
  struct Known {
    Clock clock;
    uint64_t changed = 0;
  };

  void Changed(Known& known) {
    known.changed = ++now_;
    ++changes_;
  }
  void Learn(UnitId unit, const Known& from, uint32_t rounds);
  void LearnStart(UnitId unit, UnitId from, uint32_t rounds);
  void LearnDone(UnitId unit, UnitId from, uint32_t rounds);
  void LearnParts(UnitId unit, UnitId from, uint32_t rounds);
  void TellJoint(UnitId unit);

  const graph::Graph& graph_;
  const Schedule& schedule_;
  int64_t stride_;  // units of the longest lane
  SharedClocks clocks_;
  std::vector<Known> known_;  // by unit
  // By unit: when it last learned from all that it follows; what has not changed since has nothing
  // new to tell.
  std::vector<uint64_t> updated_;
  uint64_t now_ = 0;
  uint64_t changes_ = 0;  // of clocks, so far
  // For a collective in which all parts flow into all: what any of them knows at its start. So each
  // part reads one clock, and not those of all others. Knowledge only grows, and so does this.
  std::vector<uint32_t> joint_of_;  // by unit
  std::vector<Known> joint_known_;  // by joint
};

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_WAITS_VECTOR_CLOCKS_H_
