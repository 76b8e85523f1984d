#include "compiler/schedule/offsets/offset_search.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <tuple>

namespace cgraph::schedule {
namespace {

// Orders that are tried in turns: which measure counts first, second and third, largest first.
enum class Measure : uint8_t { kCrowd, kSpan, kArea, kDegree };
constexpr std::array<std::array<Measure, 3>, 4> kHeuristics = {{
    {Measure::kCrowd, Measure::kSpan, Measure::kArea},
    {Measure::kCrowd, Measure::kArea, Measure::kSpan},
    {Measure::kDegree, Measure::kArea, Measure::kCrowd},
    {Measure::kSpan, Measure::kArea, Measure::kCrowd},
}};

constexpr int64_t kNoOffset = std::numeric_limits<int64_t>::max();

}  // namespace

OffsetSearch::OffsetSearch(const OffsetProblem& problem, const Conflicts& conflicts)
    : problem_(problem),
      conflicts_(conflicts),
      found_(problem.items.size()),
      lowest_(problem.items.size(), 0),
      least_(problem.items.size(), 0),
      placed_(problem.items.size(), false),
      sections_(conflicts.sections.size()),
      bridges_(conflicts.sections.size(), 0),
      crowd_(problem.items.size(), 0) {
  for (uint32_t i = 0; i < problem.items.size(); ++i) {
    const Range alive = conflicts.alive[i], reach = conflicts.reach[i];
    for (uint32_t s = alive.begin; s < alive.end; ++s) sections_[s].open += problem.items[i].bytes;
    for (uint32_t s = reach.begin; s + 1 < reach.end; ++s) ++bridges_[s];
  }
}

OffsetSearch::Outcome OffsetSearch::Fit(int64_t height, int64_t& effort) {
  height_ = height;
  const auto sections = static_cast<uint32_t>(sections_.size());
  std::vector<uint32_t> items(problem_.items.size());
  std::iota(items.begin(), items.end(), 0);
  std::vector<uint32_t> cuts;
  for (uint32_t s = 0; s + 1 < sections; ++s) {
    if (bridges_[s] == 0) cuts.push_back(s + 1);
  }
  for (int64_t share = 1000 * static_cast<int64_t>(items.size()); effort > 0; share *= 2) {
    for (heuristic_ = 0; heuristic_ < kHeuristics.size() && effort > 0; ++heuristic_) {
      const int64_t portion = std::min(share, effort);
      left_ = portion;
      const Outcome outcome = SolveParts(items, {0, sections}, cuts, 0);
      effort -= portion - left_;
      if (outcome != Outcome::kGaveUp) return outcome;
    }
  }
  return Outcome::kGaveUp;
}

bool OffsetSearch::Before(uint32_t a, uint32_t b) const {
  const Item &x = problem_.items[a], &y = problem_.items[b];
  for (const Measure measure : kHeuristics[heuristic_]) {
    double of_a = 0, of_b = 0;
    switch (measure) {
      case Measure::kCrowd:
        of_a = crowd_[a], of_b = crowd_[b];
        break;
      case Measure::kSpan:
        of_a = x.end - x.begin, of_b = y.end - y.begin;
        break;
      case Measure::kArea:
        of_a = static_cast<double>(x.end - x.begin) * x.bytes;
        of_b = static_cast<double>(y.end - y.begin) * y.bytes;
        break;
      case Measure::kDegree:
        of_a = conflicts_.with[a].size(), of_b = conflicts_.with[b].size();
        break;
    }
    if (of_a != of_b) return of_a > of_b;
  }
  return a < b;
}

// Solves items that nothing left binds to others, from `offset` upwards.
OffsetSearch::Outcome OffsetSearch::Solve(std::vector<uint32_t> items, Range sections,
                                          int64_t offset) {
  for (const uint32_t item : items) {
    crowd_[item] = 0;
    const Range alive = conflicts_.alive[item];
    for (uint32_t s = alive.begin; s < alive.end; ++s) {
      crowd_[item] = std::max(crowd_[item], sections_[s].open);
    }
  }
  std::sort(items.begin(), items.end(), [&](uint32_t a, uint32_t b) { return Before(a, b); });
  return Branch(items, sections, {offset, 0});
}

OffsetSearch::Outcome OffsetSearch::Branch(const std::vector<uint32_t>& items, Range sections,
                                           Candidate last) {
  left_ -= static_cast<int64_t>(items.size());
  if (left_ <= 0) return Outcome::kGaveUp;
  const std::vector<Candidate> candidates = Candidates(items, last);
  Outcome outcome = Outcome::kImpossible;
  Trail trail;
  for (const Candidate& candidate : candidates) {
    // All later turns lie at least as high.
    if (Hopeless(sections, candidate.offset)) break;
    outcome = Place(items, sections, candidate);
    if (outcome != Outcome::kImpossible) break;
    if (!Bar(items[candidate.rank], trail)) break;
  }
  Undo(trail);
  if (outcome != Outcome::kImpossible) return outcome;
  const bool done = std::all_of(items.begin(), items.end(), [&](uint32_t i) { return placed_[i]; });
  return done ? Outcome::kFound : Outcome::kImpossible;
}

std::vector<OffsetSearch::Candidate> OffsetSearch::Candidates(const std::vector<uint32_t>& items,
                                                              Candidate last) {
  int64_t lowest_top = kNoOffset;  // from here on an item would leave room for another below it
  for (const uint32_t item : items) {
    if (placed_[item]) continue;
    lowest_top = std::min(lowest_top, lowest_[item] + problem_.items[item].bytes);
  }
  std::vector<Candidate> candidates;
  for (uint32_t rank = 0; rank < items.size(); ++rank) {
    const int64_t offset = lowest_[items[rank]];
    if (placed_[items[rank]] || offset >= lowest_top) continue;
    if (std::tie(offset, rank) >= std::tie(last.offset, last.rank))
      candidates.push_back({offset, rank});
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(a.offset, a.rank) < std::tie(b.offset, b.rank);
  });
  return candidates;
}

bool OffsetSearch::Hopeless(Range sections, int64_t offset) const {
  return std::any_of(sections_.begin() + sections.begin, sections_.begin() + sections.end,
                     [&](const Section& s) {
                       return s.open > 0 && std::max(s.floor, offset) + s.open > height_;
                     });
}

OffsetSearch::Outcome OffsetSearch::Place(const std::vector<uint32_t>& items, Range sections,
                                          Candidate candidate) {
  const uint32_t item = items[candidate.rank];
  left_ -= sections.end - sections.begin;
  Trail trail;
  Put(item, sections, trail);
  Outcome outcome = Outcome::kImpossible;
  if (!Hopeless(sections, candidate.offset)) outcome = Descend(items, sections, candidate);
  TakeBack(item, trail);
  if (outcome == Outcome::kFound) found_[item] = candidate.offset;
  return outcome;
}

// Goes on after items[turn.rank] was placed.
OffsetSearch::Outcome OffsetSearch::Descend(const std::vector<uint32_t>& items, Range sections,
                                            Candidate candidate) {
  const Range reach = conflicts_.reach[items[candidate.rank]];
  std::vector<uint32_t> cuts;
  for (uint32_t s = reach.begin; s + 1 < reach.end; ++s) {
    if (--bridges_[s] == 0) cuts.push_back(s + 1);
  }
  const Outcome outcome = cuts.empty()
                              ? Branch(items, sections, candidate)
                              : SolveParts(items, sections, std::move(cuts), candidate.offset);
  for (uint32_t s = reach.begin; s + 1 < reach.end; ++s) ++bridges_[s];
  return outcome;
}

OffsetSearch::Outcome OffsetSearch::SolveParts(const std::vector<uint32_t>& items, Range sections,
                                               std::vector<uint32_t> cuts, int64_t offset) {
  Outcome outcome = Outcome::kFound;
  cuts.push_back(sections.end);
  for (uint32_t begin = sections.begin; const uint32_t end : cuts) {
    std::vector<uint32_t> part;
    for (const uint32_t item : items) {
      const Range alive = conflicts_.alive[item];
      if (!placed_[item] && alive.begin >= begin && alive.end <= end) part.push_back(item);
    }
    left_ -= static_cast<int64_t>(items.size());
    if (!part.empty()) outcome = Solve(std::move(part), {begin, end}, offset);
    if (outcome != Outcome::kFound) break;
    begin = end;
  }
  return outcome;
}

void OffsetSearch::Put(uint32_t item, Range sections, Trail& trail) {
  const int64_t bytes = problem_.items[item].bytes, top = lowest_[item] + bytes;
  placed_[item] = true;
  std::vector<bool> raised(sections.end - sections.begin, false);
  for (const uint32_t other : conflicts_.with[item]) {
    if (placed_[other] || lowest_[other] >= top) continue;
    const int64_t was = std::max(lowest_[other], least_[other]);
    trail.lowest.emplace_back(other, lowest_[other]);
    lowest_[other] = top;
    const Range alive = conflicts_.alive[other];
    for (uint32_t s = alive.begin; s < alive.end; ++s) {
      if (was <= sections_[s].floor) raised[s - sections.begin] = true;
    }
    left_ -= alive.end - alive.begin;
  }
  left_ -= static_cast<int64_t>(conflicts_.with[item].size());
  const Range alive = conflicts_.alive[item];
  for (uint32_t s = alive.begin; s < alive.end; ++s) {
    trail.floors.emplace_back(s, sections_[s].floor);
    sections_[s].floor = top;
    sections_[s].open -= bytes;
    raised[s - sections.begin] = true;
  }
  for (uint32_t s = sections.begin; s < sections.end; ++s) {
    if (raised[s - sections.begin]) RaiseFloor(s, trail);
  }
}

// Notes that the item does not come next: so it will lie on one that is still to come. Returns
// false if there is none.
bool OffsetSearch::Bar(uint32_t item, Trail& trail) {
  int64_t least = kNoOffset;
  for (const uint32_t other : conflicts_.with[item]) {
    if (!placed_[other]) least = std::min(least, problem_.items[other].bytes);
  }
  left_ -= static_cast<int64_t>(conflicts_.with[item].size());
  if (least == kNoOffset) return false;
  const int64_t was = least_[item];
  if (was >= lowest_[item] + least) return true;
  trail.least.emplace_back(item, was);
  least_[item] = lowest_[item] + least;
  const Range alive = conflicts_.alive[item];
  for (uint32_t s = alive.begin; s < alive.end; ++s) {
    if (std::max(was, lowest_[item]) <= sections_[s].floor) RaiseFloor(s, trail);
  }
  return true;
}

// Raises a section's floor to where the lowest of its items still to come may lie.
void OffsetSearch::RaiseFloor(uint32_t section, Trail& trail) {
  int64_t lowest = kNoOffset;
  for (const uint32_t item : conflicts_.sections[section]) {
    if (!placed_[item]) lowest = std::min(lowest, std::max(lowest_[item], least_[item]));
  }
  left_ -= static_cast<int64_t>(conflicts_.sections[section].size());
  int64_t& floor = sections_[section].floor;
  if (lowest == kNoOffset || floor >= lowest) return;
  trail.floors.emplace_back(section, floor);
  floor = lowest;
}

void OffsetSearch::Undo(const Trail& trail) {
  for (auto change = trail.floors.rbegin(); change != trail.floors.rend(); ++change) {
    sections_[change->first].floor = change->second;
  }
  for (const auto& [item, lowest] : trail.lowest) lowest_[item] = lowest;
  for (const auto& [item, least] : trail.least) least_[item] = least;
}

void OffsetSearch::TakeBack(uint32_t item, const Trail& trail) {
  Undo(trail);
  const Range alive = conflicts_.alive[item];
  for (uint32_t s = alive.begin; s < alive.end; ++s) {
    sections_[s].open += problem_.items[item].bytes;
  }
  placed_[item] = false;
}

}  // namespace cgraph::schedule
