#include "compiler/schedule/offsets/users.h"

#include <algorithm>

namespace cgraph::schedule {
namespace {

constexpr size_t kMostRanges = 32;  // of a block

}  // namespace

int64_t Users::Lowest(int64_t begin, int64_t end, uint32_t item) const {
  const int64_t bytes = problem_.items[item].bytes;
  int64_t offset = begin;
  for (size_t b = BlockAt(offset); b < blocks_.size(); ++b) {
    const Block& block = blocks_[b];
    if (block.ranges.front().begin >= offset + bytes || offset + bytes > end) break;
    if (AllApart(block, item)) {
      offset = std::max(offset, block.ranges.back().end);
      continue;
    }
    for (const Range& range : block.ranges) {
      if (range.begin >= offset + bytes || offset + bytes > end) break;
      if (range.end <= offset) continue;
      if (Apart(range.last, item) || (range.first != range.last && Apart(range.first, item))) {
        offset = range.end;
      }
    }
  }
  return offset <= end - bytes ? offset : kNowhere;
}

// Returns whether `item` must lie apart from all that were the last on a range of the block.
bool Users::AllApart(const Block& block, uint32_t item) const {
  const ItemClocks& item_clocks = problem_.item_clocks;
  const size_t row = size_t{item} * item_clocks.sources;
  const bool forwards = time_ == Time::kForwards;
  const std::vector<int32_t>& known = forwards ? item_clocks.known : item_clocks.known_again;
  const std::vector<int32_t>& theirs = forwards ? block.known_again : block.known;
  for (size_t i = 0; i < item_clocks.sources; ++i) {
    if (block.done[i] > known[row + i] || item_clocks.done[row + i] > theirs[i]) return true;
  }
  return false;
}

void Users::Summarise(Block& block) const {
  const ItemClocks& item_clocks = problem_.item_clocks;
  block.done.assign(item_clocks.sources, ItemClocks::kAll);
  block.known.assign(item_clocks.sources, ItemClocks::kNothing);
  block.known_again = block.known;
  for (const Range& range : block.ranges) {
    const size_t row = size_t{range.last} * item_clocks.sources;
    for (size_t i = 0; i < item_clocks.sources; ++i) {
      block.done[i] = std::min(block.done[i], item_clocks.done[row + i]);
      block.known[i] = std::max(block.known[i], item_clocks.known[row + i]);
      block.known_again[i] = std::max(block.known_again[i], item_clocks.known_again[row + i]);
    }
  }
}

// Returns the block in which the offset lies; for an offset above all, the last one.
size_t Users::BlockAt(int64_t offset) const {
  const auto after = std::upper_bound(
      blocks_.begin(), blocks_.end(), offset,
      [](int64_t at, const Block& block) { return at < block.ranges.front().begin; });
  return after == blocks_.begin() ? 0 : after - blocks_.begin() - 1;
}

// Splits a range that reaches over the offset into two.
void Users::SplitAt(int64_t offset) {
  if (blocks_.empty()) return;
  const size_t at = BlockAt(offset);
  std::vector<Range>& ranges = blocks_[at].ranges;
  auto range = std::upper_bound(ranges.begin(), ranges.end(), offset,
                                [](int64_t a, const Range& r) { return a < r.begin; });
  --range;
  if (range->begin == offset || range->end <= offset) return;
  Range upper = *range;
  range->end = upper.begin = offset;
  ranges.insert(range + 1, upper);
  if (ranges.size() <= kMostRanges) return;
  Block second;
  second.ranges.assign(ranges.begin() + ranges.size() / 2, ranges.end());
  ranges.resize(ranges.size() / 2);
  Summarise(blocks_[at]);
  Summarise(second);
  blocks_.insert(blocks_.begin() + at + 1, std::move(second));
}

void Users::Add(int64_t begin, int64_t end, uint32_t item) {
  SplitAt(begin);
  SplitAt(end);
  for (size_t b = BlockAt(begin); b < blocks_.size(); ++b) {
    Block& block = blocks_[b];
    if (block.ranges.front().begin >= end) break;
    std::vector<Range> kept;
    for (Range& range : block.ranges) {
      if (range.begin >= begin && range.end <= end) range.last = item;
      const bool same = !kept.empty() && kept.back().first == range.first &&
                        kept.back().last == range.last;
      if (same) {
        kept.back().end = range.end;
      } else {
        kept.push_back(range);
      }
    }
    block.ranges = std::move(kept);
    Summarise(block);
  }
  const int64_t top = blocks_.empty() ? 0 : blocks_.back().ranges.back().end;
  if (end <= top) return;
  if (blocks_.empty() || blocks_.back().ranges.size() == kMostRanges) blocks_.emplace_back();
  blocks_.back().ranges.push_back({std::max(begin, top), end, item, item});
  Summarise(blocks_.back());
}

}  // namespace cgraph::schedule
