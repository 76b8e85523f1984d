#include "compiler/schedule/offsets/conflicts.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace cgraph::schedule {
namespace {

void FindSections(const OffsetProblem& problem, Conflicts& conflicts) {
  const size_t count = problem.items.size();
  conflicts.alive.resize(count);
  std::vector<std::tuple<int64_t, bool, uint32_t>> events;  // ends before begins
  for (uint32_t i = 0; i < count; ++i) {
    events.emplace_back(problem.items[i].begin, true, i);
    events.emplace_back(problem.items[i].end, false, i);
  }
  std::sort(events.begin(), events.end());
  std::vector<uint32_t> alive;
  bool grown = false;
  for (const auto& [time, begins, item] : events) {
    if (!begins && grown) conflicts.sections.push_back(alive);
    grown = begins;
    const auto sections = static_cast<uint32_t>(conflicts.sections.size());
    if (begins) {
      conflicts.alive[item].begin = sections;
      alive.push_back(item);
    } else {
      conflicts.alive[item].end = sections;
      std::erase(alive, item);
    }
  }
}

// The effort to look whether one item conflicts with another, in items looked at.
constexpr int64_t kEffortPerSearch = 8;

// Returns the bytes of items, the largest first, that conflict with all of a section and with each
// other; the section's own are not among them.
int64_t BytesBeside(const OffsetProblem& problem, const Conflicts& conflicts,
                    const std::vector<uint32_t>& section, std::vector<uint32_t>& met,
                    int64_t& effort) {
  std::vector<uint32_t> beside;
  for (const uint32_t member : section) {
    effort -= 2 * static_cast<int64_t>(conflicts.with[member].size());
    for (const uint32_t other : conflicts.with[member]) {
      if (++met[other] == section.size()) beside.push_back(other);
    }
  }
  for (const uint32_t member : section) {
    for (const uint32_t other : conflicts.with[member]) met[other] = 0;
  }
  std::sort(beside.begin(), beside.end(), [&](uint32_t a, uint32_t b) {
    return std::tuple(-problem.items[a].bytes, a) < std::tuple(-problem.items[b].bytes, b);
  });
  std::vector<uint32_t> chosen;
  int64_t bytes = 0;
  for (const uint32_t item : beside) {
    if (effort <= 0) break;
    effort -= kEffortPerSearch * static_cast<int64_t>(chosen.size());
    const std::vector<uint32_t>& with = conflicts.with[item];
    const bool all = std::all_of(chosen.begin(), chosen.end(), [&](uint32_t other) {
      return std::binary_search(with.begin(), with.end(), other);
    });
    if (!all) continue;
    chosen.push_back(item);
    bytes += problem.items[item].bytes;
  }
  return bytes;
}

}  // namespace

int64_t CliqueBound(const OffsetProblem& problem, const Conflicts& conflicts, int64_t& effort) {
  std::vector<std::pair<int64_t, uint32_t>> fullest;
  for (uint32_t section = 0; section < conflicts.sections.size(); ++section) {
    int64_t bytes = 0;
    for (const uint32_t item : conflicts.sections[section]) bytes += problem.items[item].bytes;
    fullest.emplace_back(-bytes, section);
  }
  std::sort(fullest.begin(), fullest.end());
  int64_t bound = fullest.empty() ? 0 : -fullest[0].first;
  // With lifetimes alone, every item that is alive with all of a section belongs to it.
  if (problem.by_lifetimes()) return bound;
  std::vector<uint32_t> met(problem.items.size(), 0);
  for (const auto& [negative_bytes, section] : fullest) {
    if (effort <= 0) break;
    const int64_t beside =
        BytesBeside(problem, conflicts, conflicts.sections[section], met, effort);
    bound = std::max(bound, beside - negative_bytes);
  }
  return bound;
}

Conflicts FindConflicts(const OffsetProblem& problem) {
  Conflicts conflicts;
  FindSections(problem, conflicts);
  conflicts.reach = conflicts.alive;
  conflicts.with.resize(problem.items.size());
  std::vector<uint32_t> order(problem.items.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return problem.items[a].begin < problem.items[b].begin;
  });
  for (size_t a = 0; a < order.size(); ++a) {
    const uint32_t earlier = order[a];
    for (size_t b = a + 1; b < order.size(); ++b) {
      const uint32_t later = order[b];
      if (problem.items[later].begin >= problem.items[earlier].end) {
        if (problem.by_lifetimes()) break;
        if (!problem.Apart(earlier, later)) continue;
      }
      conflicts.with[earlier].push_back(later);
      conflicts.with[later].push_back(earlier);
      uint32_t& reach = conflicts.reach[earlier].end;
      reach = std::max(reach, conflicts.alive[later].begin + 1);
    }
  }
  for (std::vector<uint32_t>& with : conflicts.with) std::sort(with.begin(), with.end());
  return conflicts;
}

}  // namespace cgraph::schedule
