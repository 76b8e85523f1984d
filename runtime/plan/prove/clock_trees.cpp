#include "runtime/plan/prove/clock_trees.h"

#include <algorithm>

namespace cgraph::plan::prove {

// No number of a leaf, taken back by at most `most_rounds_`, overflows.
ClockTrees::ClockTrees(uint32_t lanes, int32_t stride, uint32_t most_rounds)
    : stride_(stride),
      most_rounds_(std::min<uint32_t>(most_rounds, -(kUnknown / 2) / stride)),
      oldest_(-static_cast<int32_t>(most_rounds_) * stride),
      width_(std::min(lanes, kFan)) {
  for (uint64_t held = kFan; held < lanes; held *= kFan) ++height_;
}

void ClockTrees::Join(Clock& to, Clock from, uint32_t rounds) {
  from.rounds += rounds;
  if (IsEmpty(from)) return;
  if (to.root == Clock::kEmpty) {
    to = Keep(from, height_);
  } else {
    JoinTree(to, from, height_);
  }
}

void ClockTrees::Raise(Clock& to, uint32_t lane, int64_t number) {
  if (number < oldest_ || number <= Number(to, lane)) return;
  Clock* tree = &to;
  for (int height = height_; height > 0; --height) {
    MakeOwn(*tree, height);
    tree = &inners_[tree->root].trees[lane >> (kBits * height) & (kFan - 1)];
  }
  MakeOwn(*tree, 0);
  leaves_[tree->root].numbers[lane & (kFan - 1)] = static_cast<int32_t>(number);
}

bool ClockTrees::Replace(Clock& old, Clock by) {
  if (Covers(old, by, height_)) {
    Drop(by, height_);
    return false;
  }
  Drop(old, height_);
  old = by;
  return true;
}

int32_t ClockTrees::Number(Clock clock, uint32_t lane) const {
  for (int height = height_; height > 0; --height) {
    if (IsEmpty(clock)) return kUnknown;
    clock = Child(clock, lane >> (kBits * height) & (kFan - 1));
  }
  if (IsEmpty(clock)) return kUnknown;
  const int32_t number = leaves_[clock.root].numbers[lane & (kFan - 1)] - Back(clock);
  return number < oldest_ ? kUnknown : number;
}

Clock ClockTrees::Child(Clock clock, uint32_t i) const {
  if (IsEmpty(clock)) return {};
  const Clock child = inners_[clock.root].trees[i];
  return {child.root, child.rounds + clock.rounds};
}

// Whether `b` says nothing that `a` does not. One tree of fewer rounds back covers itself.
bool ClockTrees::Covers(Clock a, Clock b, int height) {
  ++visited_;
  if (IsEmpty(b)) return true;
  if (IsEmpty(a)) return false;
  if (a.root == b.root) return a.rounds <= b.rounds;
  if (height == 0) return LeafCovers(a, b);
  const std::array<Clock, kFan>& first = inners_[a.root].trees;
  const std::array<Clock, kFan>& second = inners_[b.root].trees;
  for (uint32_t i = 0; i < kFan; ++i) {
    if (second[i].root == Clock::kEmpty) continue;
    const Clock child{first[i].root, first[i].rounds + a.rounds};
    const Clock other{second[i].root, second[i].rounds + b.rounds};
    if (!Covers(child, other, height - 1)) return false;
  }
  return true;
}

bool ClockTrees::LeafCovers(Clock a, Clock b) const {
  const Leaf& first = leaves_[a.root];
  const Leaf& second = leaves_[b.root];
  const int32_t back = Back(a), other_back = Back(b);
  bool covers = true;
  for (uint32_t i = 0; i < width_; ++i) {
    const int32_t number = second.numbers[i] - other_back;
    covers &= (number < oldest_) | (number <= first.numbers[i] - back);
  }
  return covers;
}

// Joins into `to`'s own node where `to` is its only user, so that joining many makes few nodes.
// Else shares a node of one of both, or makes one.
void ClockTrees::JoinTree(Clock& to, Clock from, int height) {
  if (IsEmpty(from) || from.root == to.root || !IsOwn(to, height)) {
    const Union joined = Joined(to, from, height);
    if (joined.made) {
      Drop(to, height);
      to = joined.clock;
    } else if (!Same(joined.clock, to)) {
      Share(to, joined.clock, height);
    }
    return;
  }
  ++visited_;
  if (height == 0) {
    AddLeaf(leaves_[to.root], from);
    return;
  }
  Inner& inner = inners_[to.root];
  bool all_of_from = true;
  for (uint32_t i = 0; i < kFan; ++i) {
    const Clock child = Child(from, i);
    if (Same(inner.trees[i], child)) continue;
    JoinTree(inner.trees[i], child, height - 1);
    all_of_from &= Same(inner.trees[i], child);
  }
  if (all_of_from) Share(to, from, height);
}

// For each lane the later of what the two say: `a` itself where `b` adds nothing to it, then `b`
// where `a` adds nothing, else a tree that is made.
ClockTrees::Union ClockTrees::Joined(Clock a, Clock b, int height) {
  if (IsEmpty(b)) return {a};
  if (IsEmpty(a)) return {b};
  if (a.root == b.root) return {a.rounds <= b.rounds ? a : b};
  return height == 0 ? JoinedLeaf(a, b) : JoinedInner(a, b, height);
}

ClockTrees::Union ClockTrees::JoinedLeaf(Clock a, Clock b) {
  ++visited_;
  if (LeafCovers(a, b)) return {a};
  if (LeafCovers(b, a)) return {b};
  const uint32_t root = MakeLeaf();
  AddLeaf(leaves_[root], a);
  AddLeaf(leaves_[root], b);
  return {{root, 0}, true};
}

ClockTrees::Union ClockTrees::JoinedInner(Clock a, Clock b, int height) {
  ++visited_;
  const std::array<Clock, kFan>& firsts = inners_[a.root].trees;
  const std::array<Clock, kFan>& seconds = inners_[b.root].trees;
  std::array<Union, kFan> children;
  bool all_of_a = true, all_of_b = true;
  for (uint32_t i = 0; i < kFan; ++i) {
    const Clock first{firsts[i].root, firsts[i].rounds + a.rounds};
    const Clock second{seconds[i].root, seconds[i].rounds + b.rounds};
    if (Same(first, second)) {
      children[i] = {first};
      continue;
    }
    children[i] = Joined(first, second, height - 1);
    all_of_a &= Same(children[i].clock, first);
    all_of_b &= Same(children[i].clock, second);
  }
  if (all_of_a) return {a};  // nothing was made, as that would be the same as neither
  if (all_of_b) return {b};
  const uint32_t root = MakeInner();
  for (uint32_t i = 0; i < kFan; ++i) {
    const Union& child = children[i];
    inners_[root].trees[i] = child.made ? child.clock : Keep(child.clock, height - 1);
  }
  return {{root, 0}, true};
}

void ClockTrees::AddLeaf(Leaf& to, Clock from) {
  const Leaf& leaf = leaves_[from.root];
  const int32_t back = Back(from);
  for (uint32_t i = 0; i < width_; ++i) {
    const int32_t number = leaf.numbers[i] - back;
    if (number >= oldest_) to.numbers[i] = std::max(to.numbers[i], number);
  }
}

// Makes `clock` a node with one use that is taken back by no rounds.
void ClockTrees::MakeOwn(Clock& clock, int height) {
  if (IsOwn(clock, height)) return;
  const uint32_t root = height == 0 ? MakeLeaf() : MakeInner();
  if (height > 0) {
    for (uint32_t i = 0; i < kFan; ++i) {
      inners_[root].trees[i] = Keep(Child(clock, i), height - 1);
    }
  } else if (!IsEmpty(clock)) {
    AddLeaf(leaves_[root], clock);
  }
  Drop(clock, height);
  clock = {root, 0};
}

void ClockTrees::Share(Clock& to, Clock from, int height) {
  Keep(from, height);
  Drop(to, height);
  to = from;
}

// One more use of it.
Clock ClockTrees::Keep(Clock clock, int height) {
  if (IsEmpty(clock)) return {};
  ++(height == 0 ? leaves_[clock.root].uses : inners_[clock.root].uses);
  return clock;
}

void ClockTrees::Drop(Clock clock, int height) {
  if (clock.root == Clock::kEmpty) return;
  if (height == 0) {
    if (--leaves_[clock.root].uses > 0) return;
    leaves_.Free(clock.root);
  } else {
    if (--inners_[clock.root].uses > 0) return;
    for (const Clock& child : inners_[clock.root].trees) Drop(child, height - 1);
    inners_.Free(clock.root);
  }
  --nodes_;
}

uint32_t ClockTrees::MakeLeaf() {
  ++nodes_;
  const uint32_t root = leaves_.Take();
  leaves_[root].numbers.fill(kUnknown);
  leaves_[root].uses = 1;
  return root;
}

uint32_t ClockTrees::MakeInner() {
  ++nodes_;
  const uint32_t root = inners_.Take();
  inners_[root] = {{}, 1};
  return root;
}

}  // namespace cgraph::plan::prove
