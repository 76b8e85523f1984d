// SharedClocks: many clocks, each a moment for every lane, that share what they have in common.
//
// Most clocks of a schedule over thousands of devices differ from another one in a few lanes. So a
// clock is a persistent radix tree: a leaf holds the moments of 16 lanes, an inner node 16 trees,
// and a node is shared by all clocks that know the same. A clock that learns more copies the nodes
// that it changes (copy on write, or in place where no other clock has the node). Lanes of which
// nothing is known have no node.
//
// A moment is a unit's number on its lane less `stride` for each round that it lies back. The
// stride is one for all lanes, and no lane is longer, so that moments of a lane compare as they
// should and a whole tree is taken some rounds back by one number at its root.
#ifndef CGRAPH_COMPILER_SCHEDULE_WAITS_SHARED_CLOCKS_H_
#define CGRAPH_COMPILER_SCHEDULE_WAITS_SHARED_CLOCKS_H_

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace cgraph::schedule {

// Values with a count of their users, in blocks that never move.
template <typename T>
class CountedPool {
 public:
  uint32_t Add(const T& value) {
    if (free_.empty()) Grow();
    const uint32_t id = free_.back();
    free_.pop_back();
    At(id) = {value, 1};
    return id;
  }
  const T& operator[](uint32_t id) const { return At(id).value; }
  T& operator[](uint32_t id) { return At(id).value; }
  bool IsShared(uint32_t id) const { return At(id).uses > 1; }
  void Retain(uint32_t id) { ++At(id).uses; }
  // Whether that was the last use: then the number may be given again.
  bool Release(uint32_t id) {
    if (--At(id).uses > 0) return false;
    free_.push_back(id);
    return true;
  }

 private:
  static constexpr uint32_t kBlock = 256;
  struct Counted {
    T value;
    uint32_t uses;
  };
  Counted& At(uint32_t id) { return blocks_[id / kBlock][id % kBlock]; }
  const Counted& At(uint32_t id) const { return blocks_[id / kBlock][id % kBlock]; }
  void Grow() {
    const auto first = static_cast<uint32_t>(blocks_.size()) * kBlock;
    blocks_.push_back(std::make_unique<Counted[]>(kBlock));
    for (uint32_t i = kBlock; i-- > 0;) free_.push_back(first + i);
  }

  std::vector<std::unique_ptr<Counted[]>> blocks_;
  std::vector<uint32_t> free_;
};

class SharedClocks {
 public:
  static constexpr int64_t kNothing = std::numeric_limits<int64_t>::min() / 4;
  static constexpr uint32_t kNoNode = ~uint32_t{0};

  // What a tree says of the time `rounds` rounds before. Without a node: nothing.
  struct Clock {
    uint32_t node = kNoNode;
    uint32_t rounds = 0;
  };

  // What lies more than `most_rounds` back is forgotten.
  SharedClocks(size_t lanes, int64_t stride, uint32_t most_rounds);

  // Lets `to` learn what `from` knew `rounds` rounds before. Returns whether it knows more now.
  bool Merge(Clock& to, Clock from, uint32_t rounds);
  bool Learn(Clock& to, uint32_t lane, int64_t moment);
  // kNothing where nothing is known, or it is forgotten.
  int64_t At(Clock clock, uint32_t lane) const;

 private:
  static constexpr uint32_t kBits = 4, kFan = 1u << kBits;
  using Leaf = std::array<int64_t, kFan>;
  using Inner = std::array<Clock, kFan>;

  Clock Child(Clock clock, uint32_t i) const {
    const Clock child = inners_[clock.node][i];
    return {child.node, child.rounds + clock.rounds};
  }
  static uint32_t Digit(uint32_t lane, int height) { return lane >> (kBits * height) & (kFan - 1); }
  // `height` is that of the node: 0 of a leaf.
  bool Knows(Clock clock, Clock other, int height) const;
  bool LeafKnows(Clock clock, Clock other) const;
  bool MergeTree(Clock& to, Clock from, int height);
  void MergeLeaf(Clock to, Clock from);
  void SetMoment(Clock& to, uint32_t lane, int64_t moment, int height);
  void MakeOwn(Clock& clock, int height);
  void MakeOwnLeaf(Clock& clock);
  void MakeOwnInner(Clock& clock, int height);
  void Retain(Clock clock, int height);
  void Release(Clock clock, int height);

  const int64_t stride_;
  const uint32_t most_rounds_;
  const int64_t oldest_;  // moments before it are forgotten
  int height_ = 0;        // of the roots
  CountedPool<Leaf> leaves_;
  CountedPool<Inner> inners_;
};

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_WAITS_SHARED_CLOCKS_H_
