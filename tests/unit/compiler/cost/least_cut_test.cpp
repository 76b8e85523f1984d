// The least cut against trying all sets of nodes, and fair shares of resources that several flows
// go through.
#include <catch2/catch.hpp>

#include <chrono>
#include <random>

#include "compiler/cost/group/fair_share.h"
#include "compiler/cost/group/least_cut.h"

using namespace cgraph::cost;

namespace {

uint64_t LeastOfAllSets(uint32_t nodes, const std::vector<Arc>& arcs) {
  uint64_t least = UINT64_MAX;
  for (uint32_t set = 1; set + 1 < uint32_t{1} << nodes; ++set) {
    uint64_t leaves = 0;
    for (const Arc& arc : arcs) {
      if ((set >> arc.from & 1) != 0 && (set >> arc.to & 1) == 0) leaves += arc.capacity;
    }
    least = std::min(least, leaves);
  }
  return least;
}

// Several nodes in each of some places: few capacities, so that many nodes are equal.
std::vector<Arc> RandomArcs(uint32_t nodes, std::mt19937& random, bool regular) {
  std::vector<uint32_t> place(nodes);
  for (uint32_t& at : place) at = random() % 3;
  uint64_t between[3][3];
  for (auto& row : between) {
    for (uint64_t& capacity : row) capacity = random() % 4 == 0 ? 0 : random() % 20;
  }
  std::vector<Arc> arcs;
  for (uint32_t i = 0; i < nodes; ++i) {
    for (uint32_t j = 0; j < nodes; ++j) {
      if (i == j) continue;
      const uint64_t uneven = random() % 3 * (random() % 30);
      arcs.push_back({i, j, regular ? between[place[i]][place[j]] : uneven});
    }
  }
  return arcs;
}

}  // namespace

TEST_CASE("the least cut is the least over all sets of nodes") {
  std::mt19937 random(7);
  for (int turn = 0; turn < 2000; ++turn) {
    const uint32_t nodes = 2 + random() % 8;
    const std::vector<Arc> arcs = RandomArcs(nodes, random, turn % 2 == 0);
    REQUIRE(LeastCut(nodes, arcs) == LeastOfAllSets(nodes, arcs));
  }
}

// A torus of 16 * 16: four ways out of each node; and 300 nodes of which no two are equal.
TEST_CASE("the least cut of hundreds of nodes takes well under a second") {
  const auto start = std::chrono::steady_clock::now();
  std::vector<Arc> torus;
  for (uint32_t i = 0; i < 256; ++i) {
    for (uint32_t to : {i / 16 * 16 + (i + 1) % 16, (i + 16) % 256}) {
      torus.push_back({i, to, 5});
      torus.push_back({to, i, 5});
    }
  }
  CHECK(LeastCut(256, torus) == 20);
  std::mt19937 random(7);
  std::vector<Arc> uneven;
  uint64_t least = UINT64_MAX;
  for (uint32_t i = 0; i < 300; ++i) {
    uint64_t leaves = 0;
    for (uint32_t j = 0; j < 300; ++j) {
      if (i == j) continue;
      uneven.push_back({i, j, 50 + random() % 100});
      leaves += uneven.back().capacity;
    }
    least = std::min(least, leaves);
  }
  const std::optional<uint64_t> cut = LeastCut(300, uneven);
  REQUIRE(cut);
  CHECK(*cut <= least);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
}

// 30 is shared by flows that alone could carry 10, 20 and 30: each gets a half of what it could.
// The last goes through 5 as well, a sixth of 30: it has 5 and the others share 25, as 8 and 16.
TEST_CASE("flows share what they go through by what they could carry") {
  const std::vector<Flow> flows = {{10, {0}}, {20, {0}}, {30, {0}}, {40, {}}};
  CHECK(FairShares(flows, {30}) == std::vector<uint64_t>{5, 10, 15, 40});
  const std::vector<Flow> narrow = {{10, {0}}, {20, {0}}, {30, {0, 1}}};
  CHECK(FairShares(narrow, {30, 5}) == std::vector<uint64_t>{8, 16, 5});
  CHECK(FairShares(narrow, {100, 100}) == std::vector<uint64_t>{10, 20, 30});
  // Passed twice, it carries half.
  CHECK(FairShares({{10, {0, 0}}}, {10}) == std::vector<uint64_t>{5});
}
