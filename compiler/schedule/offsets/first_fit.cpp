#include "compiler/schedule/offsets/offset_assignment.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <tuple>

#include "compiler/schedule/offsets/users.h"

namespace cgraph::schedule {
namespace {

constexpr int64_t kTop = std::numeric_limits<int64_t>::max();
constexpr int kTries = 64;  // gaps: more were never worth their time

// Gaps: the bytes in which no item is alive, as gaps that do not touch; the last one never ends.
class Gaps {
 public:
  struct Gap {
    int64_t begin, end;
  };

  Gaps() { Add({0, kTop}); }

  // Returns the lowest gap of at least `bytes` that begins at `from` or above, if it is among the
  // first few of about that size, else a higher one. There is always one.
  Gap Lowest(int64_t bytes, int64_t from) const {
    const int own = Class(bytes);
    int64_t best = kTop;
    int tries = 0;
    const std::set<int64_t>& near = by_class_[own];
    for (auto at = near.lower_bound(from); at != near.end() && ++tries <= kTries; ++at) {
      if (gaps_.at(*at) - *at < bytes) continue;
      best = *at;
      break;
    }
    for (size_t larger = own + 1; larger < by_class_.size(); ++larger) {
      const auto at = by_class_[larger].lower_bound(from);
      if (at != by_class_[larger].end()) best = std::min(best, *at);
    }
    return {best, gaps_.at(best)};
  }
  // Returns the gap without end.
  Gap Last() const { return {gaps_.rbegin()->first, kTop}; }

  void Take(int64_t begin, int64_t end) {
    const auto at = std::prev(gaps_.upper_bound(begin));
    const Gap gap{at->first, at->second};
    Remove(gap);
    if (gap.begin < begin) Add({gap.begin, begin});
    if (end < gap.end) Add({end, gap.end});
  }
  void Release(int64_t begin, int64_t end) {
    const auto next = gaps_.lower_bound(begin);
    Gap gap{begin, end};
    if (next != gaps_.begin() && std::prev(next)->second == begin) {
      gap.begin = std::prev(next)->first;
    }
    if (next->first == end) gap.end = next->second;
    if (gap.end != end) Remove({end, gap.end});
    if (gap.begin != begin) Remove({gap.begin, begin});
    Add(gap);
  }

 private:
  // Returns the class of a size: all gaps in a higher class are large enough.
  static int Class(int64_t bytes) { return std::bit_width(static_cast<uint64_t>(bytes)); }

  void Add(Gap gap) {
    gaps_.emplace(gap.begin, gap.end);
    by_class_[Class(gap.end - gap.begin)].insert(gap.begin);
  }
  void Remove(Gap gap) {
    gaps_.erase(gap.begin);
    by_class_[Class(gap.end - gap.begin)].erase(gap.begin);
  }

  std::map<int64_t, int64_t> gaps_;  // begin -> end
  std::array<std::set<int64_t>, 64> by_class_;
};

int64_t Lowest(const Gaps& gaps, const Users& users, uint32_t item, int64_t bytes) {
  int64_t from = 0;
  for (int i = 0; i < kTries; ++i) {
    const Gaps::Gap gap = gaps.Lowest(bytes, from);
    const int64_t offset = users.Lowest(gap.begin, gap.end, item);
    if (offset != Users::kNowhere) return offset;
    from = gap.begin + 1;
  }
  return users.Lowest(gaps.Last().begin, kTop, item);
}

}  // namespace

std::vector<int64_t> FirstFit(const OffsetProblem& problem, Time time) {
  const bool forwards = time == Time::kForwards;
  const auto begin = [&](uint32_t i) {
    return forwards ? problem.items[i].begin : -problem.items[i].end;
  };
  const auto end = [&](uint32_t i) {
    return forwards ? problem.items[i].end : -problem.items[i].begin;
  };
  std::vector<uint32_t> order(problem.items.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](uint32_t i) { return problem.items[i].bytes == 0; });
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::tuple(begin(a), -problem.items[a].bytes, -end(a), a) <
           std::tuple(begin(b), -problem.items[b].bytes, -end(b), b);
  });
  using Ending = std::pair<int64_t, uint32_t>;
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> alive;
  std::vector<int64_t> offsets(problem.items.size());
  Gaps gaps;
  Users users(problem, time);
  for (uint32_t i : order) {
    for (; !alive.empty() && alive.top().first <= begin(i); alive.pop()) {
      const uint32_t done = alive.top().second;
      gaps.Release(offsets[done], offsets[done] + problem.items[done].bytes);
    }
    const int64_t bytes = problem.items[i].bytes;
    int64_t& offset = offsets[i];
    offset = problem.by_lifetimes() ? gaps.Lowest(bytes, 0).begin
                                    : Lowest(gaps, users, i, bytes);
    gaps.Take(offset, offset + bytes);
    if (!problem.by_lifetimes()) users.Add(offset, offset + bytes, i);
    alive.emplace(end(i), i);
  }
  return offsets;
}

}  // namespace cgraph::schedule
