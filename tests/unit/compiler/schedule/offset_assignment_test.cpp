// Packings against a checker that looks at every byte that two items could share, against the least
// height by trying every offset, and on instances from practice.
#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <tuple>

#include "compiler/schedule/offsets/conflicts.h"
#include "compiler/schedule/offsets/offset_assignment.h"
#include "compiler/schedule/offsets/offset_search.h"

namespace cgraph::schedule {
namespace {

bool MustLieApart(const OffsetProblem& problem, uint32_t a, uint32_t b) {
  const Item &x = problem.items[a], &y = problem.items[b];
  if (x.begin < y.end && y.begin < x.end) return true;
  if (problem.by_lifetimes()) return false;
  return x.begin < y.begin ? problem.Apart(a, b) : problem.Apart(b, a);
}

// Pairs of items that share bytes and may not, or lie below 0 or above the height.
int Faults(const OffsetProblem& problem, const OffsetAssignment& assignment) {
  int faults = 0;
  for (uint32_t a = 0; a < problem.items.size(); ++a) {
    const int64_t low = assignment.offsets[a], top = low + problem.items[a].bytes;
    if (problem.items[a].bytes == 0) continue;
    faults += low < 0 || top > assignment.height;
    for (uint32_t b = 0; b < a; ++b) {
      const int64_t other = assignment.offsets[b];
      const bool share = other < top && low < other + problem.items[b].bytes;
      faults += share && problem.items[b].bytes > 0 && MustLieApart(problem, a, b);
    }
  }
  return faults;
}

// The same for many items without further constraints: a sweep over time with what is alive, by
// offset, in which neighbours alone can meet.
int FaultsOfMany(const OffsetProblem& problem, const OffsetAssignment& assignment) {
  std::vector<std::tuple<int64_t, int, uint32_t>> events;
  for (uint32_t i = 0; i < problem.items.size(); ++i) {
    events.emplace_back(problem.items[i].begin, 1, i);
    events.emplace_back(problem.items[i].end, 0, i);
  }
  std::sort(events.begin(), events.end());
  std::map<int64_t, int64_t> alive;  // begin -> end, in bytes
  int faults = 0;
  for (const auto& [time, begins, i] : events) {
    const int64_t low = assignment.offsets[i], top = low + problem.items[i].bytes;
    if (!begins) {
      alive.erase(low);
      continue;
    }
    const auto next = alive.lower_bound(low);
    faults += next != alive.end() && next->first < top;
    faults += next != alive.begin() && std::prev(next)->second > low;
    faults += low < 0 || top > assignment.height;
    alive[low] = top;
  }
  return faults;
}

// Returns whether items `from` .. fit below `height` beside those before them: every offset is
// tried.
bool Fits(const OffsetProblem& problem, int64_t height, std::vector<int64_t>& offsets) {
  const auto item = static_cast<uint32_t>(offsets.size());
  if (item == problem.items.size()) return true;
  const int64_t bytes = problem.items[item].bytes;
  for (int64_t offset = 0; offset + bytes <= height; ++offset) {
    bool free = true;
    for (uint32_t other = 0; other < item && free; ++other) {
      const bool share = offset < offsets[other] + problem.items[other].bytes &&
                         offsets[other] < offset + bytes;
      free = !share || bytes == 0 || !MustLieApart(problem, item, other);
    }
    if (!free) continue;
    offsets.push_back(offset);
    if (Fits(problem, height, offsets)) return true;
    offsets.pop_back();
  }
  return false;
}

int64_t LeastHeight(const OffsetProblem& problem) {
  for (int64_t height = 0;; ++height) {
    std::vector<int64_t> offsets;
    if (Fits(problem, height, offsets)) return height;
  }
}

// Returns a problem of up to `most` items. With `lanes`, items are of lanes that run on their own
// except for a few moments at which all wait for each other; items of two lanes are in order only
// where such a moment lies between.
OffsetProblem Random(uint32_t seed, uint32_t most, int64_t times, int64_t sizes, bool lanes) {
  std::mt19937 random(seed);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
  OffsetProblem problem;
  const int64_t count = 1 + below(most), meeting = 1 + below(times);
  std::vector<int64_t> lane;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t begin = below(times);
    problem.items.push_back({below(sizes + 1), begin, begin + 1 + below(times - begin)});
    lane.push_back(below(3));
  }
  if (!lanes) return problem;
  // Whoever begins after the meeting knows what everybody had done by then.
  problem.item_clocks.sources = 3;
  for (uint32_t i = 0; i < problem.items.size(); ++i) {
    const Item& item = problem.items[i];
    for (uint32_t source = 0; source < 3; ++source) {
      const bool own = source == lane[i];
      const int64_t known = meeting <= item.begin ? meeting : 0;
      problem.item_clocks.done.push_back(own ? static_cast<int32_t>(item.end)
                                             : ItemClocks::kNothing);
      problem.item_clocks.known.push_back(own ? ItemClocks::kAll : static_cast<int32_t>(known));
      problem.item_clocks.known_again.push_back(ItemClocks::kAll);
    }
  }
  return problem;
}

OffsetProblem ReadInstance(char name) {
  std::ifstream in(fmt::format("{}/tests/data/minimalloc/{}.1048576.csv", CGRAPH_SOURCE_DIR, name));
  std::string line;
  REQUIRE(std::getline(in, line));
  OffsetProblem problem;
  while (std::getline(in, line)) {
    long long id, begin, end, bytes;
    REQUIRE(std::sscanf(line.c_str(), "%lld,%lld,%lld,%lld", &id, &begin, &end, &bytes) == 4);
    problem.items.push_back({bytes, begin, end});
  }
  return problem;
}

TEST_CASE("nothing, and what has no bytes, needs no memory") {
  CHECK(Pack({}, {}).height == 0);
  const OffsetAssignment assignment = Pack({{{0, 0, 5}, {0, 2, 3}}}, {.effort = 1000});
  CHECK(assignment.height == 0);
  CHECK(assignment.offsets == std::vector<int64_t>{0, 0});
}

TEST_CASE("small packings are as low as they can be, and the search says when one is impossible") {
  int searched = 0, lower = 0, higher = 0;
  for (uint32_t seed = 0; seed < 600; ++seed) {
    const OffsetProblem problem = Random(seed, 7, 6, 4, seed % 2 == 1);
    const OffsetAssignment assignment = Pack(problem, {.effort = 10'000'000});
    const int64_t least = LeastHeight(problem);
    INFO("seed " << seed);
    CHECK(Faults(problem, assignment) == 0);
    CHECK(assignment.height == least);
    CHECK(assignment.bound <= least);
    lower += assignment.height < Pack(problem, {}).height;
    const bool empty = std::any_of(problem.items.begin(), problem.items.end(),
                                   [](const Item& item) { return item.bytes == 0; });
    if (empty) continue;
    ++searched;
    const Conflicts conflicts = FindConflicts(problem);
    int64_t for_bound = 1'000'000, none = 0;
    const int64_t bound = CliqueBound(problem, conflicts, for_bound);
    CHECK(for_bound > 0);
    CHECK(bound >= assignment.bound);
    CHECK(bound <= least);
    CHECK(CliqueBound(problem, conflicts, none) == assignment.bound);
    CHECK(none == 0);
    higher += bound > assignment.bound;
    OffsetSearch search(problem, conflicts);
    int64_t effort = 10'000'000;
    CHECK(search.Fit(least - 1, effort) == OffsetSearch::Outcome::kImpossible);
    CHECK(search.Fit(least, effort) == OffsetSearch::Outcome::kFound);
    int64_t little = 1;
    CHECK(search.Fit(least - 1, little) != OffsetSearch::Outcome::kFound);
    CHECK(little <= 0);
  }
  CHECK(searched > 200);
  CHECK(higher > 20);
  CHECK(lower > 3);
}

TEST_CASE("larger packings are sound, with and without search, and never higher with it") {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const OffsetProblem problem = Random(seed, 150, 100, 1000, seed % 2 == 1);
    const OffsetAssignment first = Pack(problem, {}), searched = Pack(problem, {.effort = 300'000});
    INFO("seed " << seed);
    CHECK(Faults(problem, first) == 0);
    CHECK(Faults(problem, searched) == 0);
    CHECK(searched.height <= first.height);
    CHECK(searched.bound <= searched.height);
    CHECK(Pack(problem, {.effort = 300'000}).offsets == searched.offsets);
  }
}

TEST_CASE("a capacity that first fit keeps is searched no further") {
  // Ends at 5 by first fit; 4 is possible.
  const OffsetProblem problem{{{1, 0, 2}, {2, 0, 1}, {1, 1, 4}, {3, 2, 3}, {1, 3, 5}}};
  const OffsetAssignment least = Pack(problem, {.effort = 100'000});
  CHECK(least.height == 4);
  CHECK(Pack(problem, {.capacity = 1000, .effort = 100'000}).height <= 1000);
}

TEST_CASE("messages between large results leave no gaps, with no search at all") {
  // At every moment some large results and some messages are alive, and each begins where another
  // of its size ends.
  std::mt19937 random(5);
  for (int round = 0; round < 20; ++round) {
    OffsetProblem problem;
    for (int track = 0; track < 20; ++track) {
      const int64_t bytes = track % 2 == 0 ? 1 << 20 : 64;
      for (int64_t begin = 0; begin < 300;) {
        const int64_t end = begin + 1 + static_cast<int64_t>(random() % 40);
        problem.items.push_back({bytes, begin, end});
        begin = end;
      }
    }
    std::shuffle(problem.items.begin(), problem.items.end(), random);
    const OffsetAssignment assignment = Pack(problem, {});
    INFO("round " << round);
    CHECK(Faults(problem, assignment) == 0);
    CHECK(assignment.height == 10 * (1 << 20) + 10 * 64);
  }
}

TEST_CASE("the checker sees what overlaps") {
  const OffsetProblem problem{{{2, 0, 2}, {2, 1, 3}}};
  CHECK(Faults(problem, {{0, 1}, 3, 0}) == 1);
  CHECK(Faults(problem, {{0, 2}, 3, 0}) == 1);
  CHECK(Faults(problem, {{0, 2}, 4, 0}) == 0);
  CHECK(FaultsOfMany(problem, {{0, 1}, 3, 0}) == 1);
  CHECK(FaultsOfMany(problem, {{0, 2}, 4, 0}) == 0);
}

void CheckInstances(const std::string& names) {
  for (const char name : names) {
    const OffsetProblem problem = ReadInstance(name);
    const OffsetAssignment assignment =
        Pack(problem, {.capacity = 1 << 20, .effort = int64_t{1} << 34});
    INFO(name);
    CHECK(assignment.height <= 1 << 20);
    CHECK(Faults(problem, assignment) == 0);
  }
}

TEST_CASE("MiniMalloc's instances fit into their capacity") { CheckInstances("GJK"); }

// Seconds each without optimisation.
TEST_CASE("all of MiniMalloc's instances fit into their capacity", "[.large]") {
  CheckInstances("ABCDEFGHIJK");
}

TEST_CASE("many short-lived buffers are packed close to the bound by first fit alone") {
  std::mt19937 random(1);
  OffsetProblem problem;
  for (int64_t i = 0; i < 100'000; ++i) {
    const int64_t length = random() % 64 == 0 ? 2000 : 1 + random() % 20;
    problem.items.push_back({64 * static_cast<int64_t>(1 + random() % 64), i, i + length});
  }
  const OffsetAssignment assignment = Pack(problem, {.effort = 1000});
  CHECK(FaultsOfMany(problem, assignment) == 0);
  CHECK(assignment.height <= assignment.bound * 5 / 4);
  // With items of one size the height is the least.
  for (Item& item : problem.items) item.bytes = 64;
  const OffsetAssignment equal = Pack(problem, {});
  CHECK(FaultsOfMany(problem, equal) == 0);
  CHECK(equal.height == equal.bound);
}

}  // namespace
}  // namespace cgraph::schedule
