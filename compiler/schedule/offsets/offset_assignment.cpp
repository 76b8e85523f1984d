#include "compiler/schedule/offsets/offset_assignment.h"

#include <algorithm>

#include "compiler/schedule/offsets/conflicts.h"
#include "compiler/schedule/offsets/offset_search.h"

namespace cgraph::schedule {
namespace {

// The most items that the search takes; larger parts are for first fit alone. The search goes as
// deep as it has items, and pairs take memory, and effort to find.
constexpr size_t kSearchedItems = 4096;
constexpr int64_t kSearchedPairs = 1 << 23;
constexpr int64_t kEffortPerPair = 8;

int64_t HeightOf(const OffsetProblem& problem, const std::vector<int64_t>& offsets) {
  int64_t height = 0;
  for (size_t i = 0; i < offsets.size(); ++i) {
    if (problem.items[i].bytes > 0) height = std::max(height, offsets[i] + problem.items[i].bytes);
  }
  return height;
}

int64_t MostAlive(const OffsetProblem& problem) {
  std::vector<std::pair<int64_t, int64_t>> changes;  // at one time what ends comes first
  for (const Item& item : problem.items) {
    changes.emplace_back(item.begin, item.bytes);
    changes.emplace_back(item.end, -item.bytes);
  }
  std::sort(changes.begin(), changes.end());
  int64_t alive = 0, most = 0;
  for (const auto& [time, bytes] : changes) most = std::max(most, alive += bytes);
  return most;
}

struct Tried {
  std::vector<int64_t> offsets;
  int64_t height;
};

// Runs first fit, in the direction that gives the lower offset assignment.
Tried EitherWay(const OffsetProblem& problem, int64_t goal) {
  Tried best{FirstFit(problem, Time::kForwards), 0};
  best.height = HeightOf(problem, best.offsets);
  if (best.height <= goal) return best;
  Tried other{FirstFit(problem, Time::kBackwards), 0};
  other.height = HeightOf(problem, other.offsets);
  return other.height < best.height ? other : best;
}

// Returns the size from which on items count as large: where sizes are furthest apart. 0: nowhere
// far.
int64_t LeastLarge(const OffsetProblem& problem) {
  constexpr int64_t kFar = 16;  // times as large as the next smaller one
  std::vector<int64_t> sizes;
  for (const Item& item : problem.items) {
    if (item.bytes > 0) sizes.push_back(item.bytes);
  }
  std::sort(sizes.begin(), sizes.end());
  int64_t least = 0, ratio = kFar - 1;
  for (size_t i = 1; i < sizes.size(); ++i) {
    if (sizes[i] / sizes[i - 1] <= ratio) continue;
    ratio = sizes[i] / sizes[i - 1];
    least = sizes[i];
  }
  return least;
}

// Places the large items below and the small ones above. A small one between large ones, such as
// messages between the activations of a pipeline, leaves gaps that no large one fills.
Tried InLayers(const OffsetProblem& problem, int64_t least_large, int64_t goal) {
  OffsetProblem large = problem, small = problem;
  for (size_t i = 0; i < problem.items.size(); ++i) {
    (problem.items[i].bytes < least_large ? large : small).items[i].bytes = 0;
  }
  Tried below = EitherWay(large, goal);
  const Tried above = EitherWay(small, goal - below.height);
  for (size_t i = 0; i < problem.items.size(); ++i) {
    if (small.items[i].bytes > 0) below.offsets[i] = below.height + above.offsets[i];
  }
  below.height += above.height;
  return below;
}

// Cuts the items, in the order in which they begin, at times at which none is alive.
std::vector<std::vector<uint32_t>> Parts(const OffsetProblem& problem) {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < problem.items.size(); ++i) {
    if (problem.items[i].bytes > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return problem.items[a].begin < problem.items[b].begin;
  });
  std::vector<std::vector<uint32_t>> parts;
  int64_t end = 0;
  for (const uint32_t i : order) {
    const Item& item = problem.items[i];
    // Items that must lie apart for other reasons than their lifetimes are not cut.
    if (parts.empty() || (problem.by_lifetimes() && item.begin >= end)) {
      parts.emplace_back();
      end = item.end;
    }
    parts.back().push_back(i);
    end = std::max(end, item.end);
  }
  return parts;
}

// Returns how many pairs FindConflicts would look at; `part` is sorted by begin.
int64_t CountPairs(const OffsetProblem& problem, const std::vector<uint32_t>& part) {
  const auto count = static_cast<int64_t>(part.size());
  if (!problem.by_lifetimes()) return count * (count - 1) / 2;
  std::vector<int64_t> ends;
  for (const uint32_t i : part) ends.push_back(problem.items[i].end);
  std::sort(ends.begin(), ends.end());
  int64_t pairs = 0, ended = 0;
  for (int64_t i = 0; i < count; ++i) {
    while (ends[ended] <= problem.items[part[i]].begin) ++ended;
    pairs += i - ended;
  }
  return pairs;
}

OffsetProblem PartOf(const OffsetProblem& problem, const std::vector<uint32_t>& part) {
  OffsetProblem sub;
  const ItemClocks& from = problem.item_clocks;
  sub.item_clocks.sources = from.sources;
  for (const uint32_t i : part) {
    sub.items.push_back(problem.items[i]);
    const size_t begin = size_t{i} * from.sources, end = begin + from.sources;
    const auto copy = [&](const std::vector<int32_t>& rows, std::vector<int32_t>& to) {
      to.insert(to.end(), rows.begin() + begin, rows.begin() + end);
    };
    copy(from.done, sub.item_clocks.done);
    copy(from.known, sub.item_clocks.known);
    copy(from.known_again, sub.item_clocks.known_again);
  }
  return sub;
}

// Looks for an offset assignment of `part` that is lower than `height`, and as low as `goal` if it
// can be. Returns the height that it has then.
int64_t Improve(const OffsetProblem& problem, const std::vector<uint32_t>& part, int64_t height,
                int64_t goal, int64_t& effort, std::vector<int64_t>& offsets) {
  const OffsetProblem sub = PartOf(problem, part);
  const Conflicts conflicts = FindConflicts(sub);
  int64_t for_bound = effort / 4;
  effort -= for_bound;
  goal = std::max(goal, CliqueBound(sub, conflicts, for_bound));
  effort += std::max<int64_t>(for_bound, 0);
  OffsetSearch search(sub, conflicts);
  // Tries the goal first, then halfway between the height found and the height not found.
  for (int64_t target = goal; goal < height && effort > 0; target = goal + (height - goal) / 2) {
    int64_t share = effort / 2 + 1;
    effort -= share;
    if (search.Fit(target, share) == OffsetSearch::Outcome::kFound) {
      height = HeightOf(sub, search.offsets());
      for (size_t i = 0; i < part.size(); ++i) offsets[part[i]] = search.offsets()[i];
    } else {
      goal = target + 1;
    }
    effort += share;
  }
  return height;
}

}  // namespace

OffsetAssignment Pack(const OffsetProblem& problem, const OffsetOptions& options) {
  OffsetAssignment assignment;
  assignment.bound = MostAlive(problem);
  int64_t goal = std::max(assignment.bound, options.capacity);
  Tried tried = EitherWay(problem, goal);
  if (const int64_t least = LeastLarge(problem); tried.height > goal && least > 0) {
    Tried layers = InLayers(problem, least, goal);
    if (layers.height < tried.height) tried = std::move(layers);
  }
  assignment.offsets = std::move(tried.offsets);
  assignment.height = tried.height;
  if (assignment.height <= goal) return assignment;
  int64_t effort = options.effort, highest = 0;
  for (const std::vector<uint32_t>& part : Parts(problem)) {
    int64_t height = 0;
    for (const uint32_t i : part) {
      height = std::max(height, assignment.offsets[i] + problem.items[i].bytes);
    }
    if (height > goal && part.size() <= kSearchedItems) {
      const int64_t pairs = CountPairs(problem, part);
      effort -= pairs * kEffortPerPair;
      if (pairs <= kSearchedPairs && effort > 0) {
        height = Improve(problem, part, height, goal, effort, assignment.offsets);
      }
    }
    highest = std::max(highest, height);
    goal = std::max(goal, highest);  // nothing is won by a part that is lower than another
  }
  assignment.height = highest;
  return assignment;
}

}  // namespace cgraph::schedule
