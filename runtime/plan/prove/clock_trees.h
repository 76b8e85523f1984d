// Clocks as persistent trees: what nodes know in common they hold in common.
//
// A clock has a number for each lane: the latest instruction of the lane that is known to be done,
// (position - rounds * stride), where `rounds` says how many rounds ago. The stride is the same
// for all lanes and no lane is longer, so a larger number is a later instruction, and to take a
// clock some rounds back is one subtraction for all lanes: a number at the root of the tree.
//
// A leaf has 16 numbers, an inner node 16 trees, each with the rounds by which it is taken back.
// Nodes are counted by their uses, freed with the last, and never change while there is a second;
// only a root that is a leaf changes at all: in a graph of up to 16 lanes.
#ifndef CGRAPH_RUNTIME_PLAN_PROVE_CLOCK_TREES_H_
#define CGRAPH_RUNTIME_PLAN_PROVE_CLOCK_TREES_H_

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

namespace cgraph::plan::prove {

// Without a root nothing is known.
struct Clock {
  static constexpr uint32_t kEmpty = ~uint32_t{0};
  uint32_t root = kEmpty;
  uint32_t rounds = 0;
};

class ClockTrees {
 public:
  static constexpr int64_t kUnknown = std::numeric_limits<int64_t>::min() / 4;

  // What lies more than `most_rounds` back counts as unknown.
  ClockTrees(uint32_t lanes, int64_t stride, uint32_t most_rounds);

  // Adds to `to` what `from` says, so many rounds before. Whether it says more now.
  bool Join(Clock& to, Clock from, uint32_t rounds);
  bool Raise(Clock& to, uint32_t lane, int64_t number);
  int64_t Number(Clock clock, uint32_t lane) const;

  uint64_t nodes() const { return nodes_; }      // that are in use
  uint64_t visited() const { return visited_; }  // by all calls so far

 private:
  static constexpr uint32_t kFan = 16, kBits = 4;
  struct Leaf {
    std::array<int64_t, kFan> numbers;
    uint32_t uses;
  };
  struct Inner {
    std::array<Clock, kFan> trees;
    uint32_t uses;
  };

  bool IsEmpty(Clock clock) const {
    return clock.root == Clock::kEmpty || clock.rounds > most_rounds_;
  }
  bool IsOwnLeaf(Clock root) const {
    return height_ == 0 && root.root != Clock::kEmpty && root.rounds == 0 &&
           leaves_[root.root].uses == 1;
  }
  Clock Child(Clock clock, uint32_t i) const;
  bool Covers(Clock a, Clock b, int height);
  bool LeafCovers(Clock a, Clock b) const;
  Clock Joined(Clock a, Clock b, int height);
  void AddLeaf(Leaf& to, Clock from);
  Clock Raised(Clock clock, uint32_t lane, int64_t number, int height);
  Clock Keep(Clock clock, int height);
  void Drop(Clock clock, int height);
  uint32_t MakeLeaf();
  uint32_t MakeInner();

  const int64_t stride_;
  const uint32_t most_rounds_;
  const int64_t oldest_;  // a number below it counts as unknown
  const uint32_t width_;  // lanes of a leaf
  int height_ = 0;        // of the roots; leaves have 0
  std::vector<Leaf> leaves_;
  std::vector<Inner> inners_;
  std::vector<uint32_t> free_leaves_, free_inners_;
  uint64_t nodes_ = 0, visited_ = 0;
};

}  // namespace cgraph::plan::prove

#endif  // CGRAPH_RUNTIME_PLAN_PROVE_CLOCK_TREES_H_
