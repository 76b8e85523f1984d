// Clocks as persistent trees: what nodes know in common they hold in common.
//
// A clock has a number for each lane: the latest instruction of the lane that is known to be done,
// (position - rounds * stride), where `rounds` says how many rounds ago. The stride is the same
// for all lanes and no lane is longer, so a larger number is a later instruction, and to take a
// clock some rounds back is one subtraction for all lanes: a number at the root of the tree.
//
// A leaf has 16 numbers, an inner node 16 trees, each with the rounds by which it is taken back.
// The numbers have 32 bits: a proof of a large plan takes most of its memory here. Nodes are
// counted by their uses, freed with the last, and never change while there is a second.
#ifndef CGRAPH_RUNTIME_PLAN_PROVE_CLOCK_TREES_H_
#define CGRAPH_RUNTIME_PLAN_PROVE_CLOCK_TREES_H_

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
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
  static constexpr int32_t kUnknown = std::numeric_limits<int32_t>::min() / 2;

  // What lies more than `most_rounds` back counts as unknown, and what is further back than half of
  // kUnknown. `stride` is at most that far.
  ClockTrees(uint32_t lanes, int32_t stride, uint32_t most_rounds);

  // Adds to `to` what `from` says of the time `rounds` rounds before.
  void Join(Clock& to, Clock from, uint32_t rounds);
  // Adds to `to` that the lane has come to `number`.
  void Raise(Clock& to, uint32_t lane, int64_t number);
  // Puts `by`, which says no less, in the place of `old`. Returns whether it says more.
  bool Replace(Clock& old, Clock by);
  int32_t Number(Clock clock, uint32_t lane) const;

  uint64_t nodes() const { return nodes_; }      // that are in use
  uint64_t visited() const { return visited_; }  // by all calls so far

 private:
  static constexpr uint32_t kFan = 16, kBits = 4;
  struct Leaf {
    std::array<int32_t, kFan> numbers;
    uint32_t uses;
  };
  struct Inner {
    std::array<Clock, kFan> trees;
    uint32_t uses;
  };
  // Pool: nodes by number. It grows by chunks: a vector would hold everything twice while it grows.
  template <typename Node>
  class Pool {
   public:
    Node& operator[](uint32_t i) { return chunks_[i >> kChunkBits][i & (kChunk - 1)]; }
    const Node& operator[](uint32_t i) const { return chunks_[i >> kChunkBits][i & (kChunk - 1)]; }
    uint32_t Take() {
      if (!free_.empty()) {
        const uint32_t node = free_.back();
        free_.pop_back();
        return node;
      }
      if ((taken_ & (kChunk - 1)) == 0) {
        chunks_.push_back(std::make_unique_for_overwrite<Node[]>(kChunk));
      }
      return taken_++;
    }
    void Free(uint32_t node) { free_.push_back(node); }

   private:
    static constexpr uint32_t kChunkBits = 10, kChunk = 1 << kChunkBits;
    std::vector<std::unique_ptr<Node[]>> chunks_;
    std::vector<uint32_t> free_;
    uint32_t taken_ = 0;
  };
  // Union: a clock that is one of two others, or a tree that is made of both, with one use.
  struct Union {
    Clock clock;
    bool made = false;
  };

  bool IsEmpty(Clock clock) const {
    return clock.root == Clock::kEmpty || clock.rounds > most_rounds_;
  }
  // Whether the node may change: this clock is its one use.
  bool IsOwn(Clock clock, int height) const {
    return clock.root != Clock::kEmpty && clock.rounds == 0 &&
           (height == 0 ? leaves_[clock.root].uses : inners_[clock.root].uses) == 1;
  }
  bool Same(Clock a, Clock b) const {
    return (a.root == b.root && a.rounds == b.rounds) || (IsEmpty(a) && IsEmpty(b));
  }
  int32_t Back(Clock clock) const { return static_cast<int32_t>(clock.rounds) * stride_; }
  Clock Child(Clock clock, uint32_t i) const;
  bool Covers(Clock a, Clock b, int height);
  bool LeafCovers(Clock a, Clock b) const;
  Union Joined(Clock a, Clock b, int height);
  Union JoinedLeaf(Clock a, Clock b);
  Union JoinedInner(Clock a, Clock b, int height);
  void AddLeaf(Leaf& to, Clock from);
  void JoinTree(Clock& to, Clock from, int height);
  void MakeOwn(Clock& clock, int height);
  void Share(Clock& to, Clock from, int height);
  Clock Keep(Clock clock, int height);
  void Drop(Clock clock, int height);
  uint32_t MakeLeaf();
  uint32_t MakeInner();

  const int32_t stride_;
  const uint32_t most_rounds_;
  const int32_t oldest_;  // a number below it counts as unknown
  const uint32_t width_;  // lanes of a leaf
  int height_ = 0;        // of the roots; leaves have 0
  Pool<Leaf> leaves_;
  Pool<Inner> inners_;
  uint64_t nodes_ = 0, visited_ = 0;
};

}  // namespace cgraph::plan::prove

#endif  // CGRAPH_RUNTIME_PLAN_PROVE_CLOCK_TREES_H_
