// RuleFamily: the family of rules to which the schedules that people write for pipelines belong.
//
// It is about the kinds of calls that many devices make again and again (forward, backward, ...). A
// member prefers the kinds in some order. The first kind may run ahead of another by some number,
// which falls along the devices. The last kind is put off by some number that rises along them, as
// zero-bubble schedules put off weight gradients to fill later gaps. Where a device has several of
// a pipeline's actors, as in a V, the deepest or the least deep comes first, and the others than
// the deepest may run ahead by a number of their own, so that they leave room for the way back; or
// they take turns, micro-batches in groups, in a fixed order. A few numbers describe a member.
//
// The schedules of stdlib/schedules are members, too (Library), except for the kinds that they
// fuse.
#ifndef CGRAPH_COMPILER_SCHEDULE_ORDERING_SEARCH_RULE_FAMILY_H_
#define CGRAPH_COMPILER_SCHEDULE_ORDERING_SEARCH_RULE_FAMILY_H_

#include <cstdint>
#include <vector>

#include "compiler/schedule/ordering/tasks/tasks.h"

namespace cgraph::schedule {

inline constexpr int64_t kUnbounded = 1 << 30;
inline constexpr int64_t kNotBehind = -kUnbounded;  // of a lower limit: nothing is put off

// Depth: which of several actors on a device comes first. An actor is as deep as the longest path
// to its first call of a kind. The last two fix the order of a lane's calls, by chunk (how many
// actors of the device are less deep) and micro-batch (how many of its calls of the kind come
// before it).
enum class Depth : uint8_t {
  kAny,         // the actor of the call with the longest remaining path
  kForward,     // of the first kind the deepest, of others any
  kOutAndBack,  // of the first kind the deepest, of others the least deep
  kDeepest,
  kInterleaved,  // of each kind, in groups of as many micro-batches as there are lanes: the first
                 // kind by chunk forwards, others backwards
  kDualPipe,     // of all kinds, as dualpipe_v has it
};

// PolicyParams: one member. Slopes and bases are in hundredths of a call per lane: a slope times
// the lanes from this one to the last, a base times all lanes.
struct PolicyParams {
  uint32_t preference = 0;  // which permutation of the kinds
  int64_t ahead_slope = kUnbounded, ahead = 0;  // the first kind minus `against`
  bool flat = false;                            // the same on all lanes
  uint32_t against = 1;                         // into the kinds
  int64_t behind_slope = 0;                     // the last but one minus the last, at least
  int64_t kept_base = kUnbounded, kept = 0;     // the first minus the last, at most
  Depth depth = Depth::kAny;
  // The first kind minus the second, of all actors of a device but the deepest.
  int64_t out_base = kUnbounded, out_slope = 100, out = -1;
  friend bool operator==(const PolicyParams&, const PolicyParams&) = default;
};

// Bounds: the bounds that params give each lane.
struct Bounds {
  std::vector<int64_t> ahead, behind, kept, out;  // by position
};

class RuleFamily {
 public:
  explicit RuleFamily(const Tasks& tasks);

  // Returns the same tasks, with kinds that distinguish the deepest actors of a device from others.
  const Tasks& tasks() const { return tasks_; }
  // Returns how many lanes make calls of the kinds: these have positions.
  size_t positions() const { return positions_.size(); }
  // Returns whether some device has actors of several depths.
  bool deep() const { return deep_; }
  // Returns whether bounds mean anything: several kinds on several lanes.
  bool bounded() const { return kinds_.size() > 1 && positions_.size() > 1; }

  // Return members far from each other, to begin with; and members that differ from one by a
  // little.
  std::vector<PolicyParams> Spread() const;
  std::vector<PolicyParams> Library() const;
  // Returns members without limits: where a graph is no pipeline, all members with limits may
  // block.
  std::vector<PolicyParams> Unlimited() const;
  std::vector<PolicyParams> Neighbours(const PolicyParams& params) const;

  Bounds BoundsOf(const PolicyParams& params) const;
  // Returns the policy of a list schedule.
  Policy PolicyOf(const PolicyParams& params, const Bounds& bounds) const;
  std::vector<std::vector<LaneLimit>> Limits(const PolicyParams& params,
                                             const Bounds& bounds) const;

 private:
  void FindKinds();
  void KeepCommonKinds(const std::vector<std::vector<uint32_t>>& counts);
  void FindDepths();
  void FindChunks();
  void TellDeepest();
  std::vector<uint32_t> Ranks(const PolicyParams& params) const;
  void AddSequences(Depth depth, Policy& policy) const;
  std::vector<int64_t> SequenceKey(Depth depth, uint32_t position, uint32_t kind,
                                   uint32_t task) const;
  uint32_t KindOf(uint32_t task) const;  // into kinds_; kNone: none of them
  std::vector<int64_t> DepthKey(Depth depth, uint32_t task, bool is_first_kind) const;
  std::vector<Depth> Depths() const;
  uint32_t OutKind(uint32_t kind) const { return all_kinds_ + kind; }

  Tasks tasks_;
  const uint32_t all_kinds_;         // those that the tasks came with
  std::vector<uint32_t> kinds_;      // that some lane makes often, as they first appear
  std::vector<uint32_t> positions_;  // lanes
  std::vector<std::vector<uint32_t>> permutations_;  // of the kinds
  std::vector<int64_t> depths_;                      // by task: of its actor, picoseconds
  std::vector<uint32_t> chunks_, batches_;  // by task of the kinds: of its actor; of the call
  int64_t most_chunks_ = 1, most_batches_ = 0;
  bool deep_ = false;
};

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_ORDERING_SEARCH_RULE_FAMILY_H_
