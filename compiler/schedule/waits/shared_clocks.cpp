#include "compiler/schedule/waits/shared_clocks.h"

#include <algorithm>

namespace cgraph::schedule {

SharedClocks::SharedClocks(size_t lanes, int64_t stride, uint32_t most_rounds)
    : stride_(stride),
      most_rounds_(most_rounds),
      oldest_(-static_cast<int64_t>(most_rounds) * stride) {
  for (size_t reached = kFan; reached < lanes; reached *= kFan) ++height_;
}

bool SharedClocks::Merge(Clock& to, Clock from, uint32_t rounds) {
  if (from.node == kNoNode) return false;
  return MergeTree(to, {from.node, from.rounds + rounds}, height_);
}

bool SharedClocks::Learn(Clock& to, uint32_t lane, int64_t moment) {
  if (moment < oldest_ || moment <= At(to, lane)) return false;
  SetMoment(to, lane, moment, height_);
  return true;
}

int64_t SharedClocks::At(Clock clock, uint32_t lane) const {
  for (int height = height_; height > 0; --height) {
    if (clock.node == kNoNode) return kNothing;
    clock = Child(clock, Digit(lane, height));
  }
  if (clock.node == kNoNode) return kNothing;
  const int64_t moment = leaves_[clock.node][Digit(lane, 0)] - clock.rounds * stride_;
  return moment >= oldest_ ? moment : kNothing;
}

// Whether `clock` knows all that `other` does. A node knows what it knows itself, of later rounds
// at least as much: that answers for all below it.
bool SharedClocks::Knows(Clock clock, Clock other, int height) const {
  if (other.node == kNoNode || other.rounds > most_rounds_) return true;
  if (clock.node == kNoNode) return false;
  if (clock.node == other.node) return clock.rounds <= other.rounds;
  if (height == 0) return LeafKnows(clock, other);
  for (uint32_t i = 0; i < kFan; ++i) {
    if (!Knows(Child(clock, i), Child(other, i), height - 1)) return false;
  }
  return true;
}

bool SharedClocks::LeafKnows(Clock clock, Clock other) const {
  const Leaf& mine = leaves_[clock.node];
  const Leaf& theirs = leaves_[other.node];
  const int64_t back = clock.rounds * stride_, their_back = other.rounds * stride_;
  bool more = false;
  for (uint32_t i = 0; i < kFan; ++i) {
    const int64_t moment = theirs[i] - their_back;
    more |= (moment >= oldest_) & (moment > mine[i] - back);
  }
  return !more;
}

bool SharedClocks::MergeTree(Clock& to, Clock from, int height) {
  if (Knows(to, from, height)) return false;
  if (Knows(from, to, height)) {
    Retain(from, height);
    Release(to, height);
    to = from;
    return true;
  }
  MakeOwn(to, height);
  if (height == 0) {
    MergeLeaf(to, from);
    return true;
  }
  for (uint32_t i = 0; i < kFan; ++i) {
    (void)MergeTree(inners_[to.node][i], Child(from, i), height - 1);
  }
  return true;
}

// `to` is a node of its own, of this round.
void SharedClocks::MergeLeaf(Clock to, Clock from) {
  Leaf& mine = leaves_[to.node];
  const Leaf& theirs = leaves_[from.node];
  const int64_t back = from.rounds * stride_;
  for (uint32_t i = 0; i < kFan; ++i) {
    const int64_t moment = theirs[i] - back;
    if (moment >= oldest_) mine[i] = std::max(mine[i], moment);
  }
}

void SharedClocks::SetMoment(Clock& to, uint32_t lane, int64_t moment, int height) {
  MakeOwn(to, height);
  const uint32_t i = Digit(lane, height);
  if (height == 0) {
    leaves_[to.node][i] = moment;
  } else {
    SetMoment(inners_[to.node][i], lane, moment, height - 1);
  }
}

// Returns a node with the same content that no other clock shares and that is not taken back.
void SharedClocks::MakeOwn(Clock& clock, int height) {
  if (height == 0) {
    MakeOwnLeaf(clock);
  } else {
    MakeOwnInner(clock, height);
  }
}

void SharedClocks::MakeOwnLeaf(Clock& clock) {
  if (clock.node == kNoNode) {
    Leaf leaf;
    leaf.fill(kNothing);
    clock = {leaves_.Add(leaf), 0};
    return;
  }
  if (leaves_.IsShared(clock.node)) {
    const uint32_t copy = leaves_.Add(leaves_[clock.node]);
    Release(clock, 0);
    clock.node = copy;
  }
  if (clock.rounds == 0) return;
  for (int64_t& moment : leaves_[clock.node]) {
    moment -= clock.rounds * stride_;
    if (moment < oldest_) moment = kNothing;
  }
  clock.rounds = 0;
}

void SharedClocks::MakeOwnInner(Clock& clock, int height) {
  if (clock.node == kNoNode) {
    clock = {inners_.Add({}), 0};
    return;
  }
  if (inners_.IsShared(clock.node)) {
    const uint32_t copy = inners_.Add(inners_[clock.node]);
    for (const Clock& child : inners_[copy]) Retain(child, height - 1);
    Release(clock, height);
    clock.node = copy;
  }
  if (clock.rounds == 0) return;
  for (Clock& child : inners_[clock.node]) {
    if (child.node == kNoNode) continue;
    child.rounds += clock.rounds;
    if (child.rounds <= most_rounds_) continue;
    Release(child, height - 1);
    child = {};
  }
  clock.rounds = 0;
}

void SharedClocks::Retain(Clock clock, int height) {
  if (clock.node == kNoNode) return;
  if (height == 0) {
    leaves_.Retain(clock.node);
  } else {
    inners_.Retain(clock.node);
  }
}

void SharedClocks::Release(Clock clock, int height) {
  if (clock.node == kNoNode) return;
  if (height == 0) {
    (void)leaves_.Release(clock.node);
  } else if (inners_.Release(clock.node)) {
    for (const Clock& child : inners_[clock.node]) Release(child, height - 1);
  }
}

}  // namespace cgraph::schedule
