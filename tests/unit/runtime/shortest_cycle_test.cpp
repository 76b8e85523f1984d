// A refusal tells a shortest cycle: against all distances in small random tangles of lanes, events
// and rendezvous. The oracle knows the rules for waits and nothing of the prover: it closes the
// relation "waits for" over pairs, where all that stands before in a lane is one step away.
#include <catch2/catch.hpp>

#include <algorithm>
#include <random>

#include "runtime/plan/prove.h"
#include "tests/support/plans/plan_builder.h"

namespace cgraph::plan::testing {
namespace {

constexpr uint32_t kFar = 1u << 20;

struct Tangle {
  PlanBuilder plan;
  std::unique_ptr<Plan> built;

  explicit Tangle(uint32_t seed) {
    std::mt19937 random(seed);
    const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
    const uint32_t lanes = 2 + below(4);
    std::vector<uint32_t> devices, lane;
    GraphBuilder& g = plan.Graph("main");
    for (uint32_t i = 0; i < lanes; ++i) {
      devices.push_back(plan.Device(DeviceKind::cpu, i));
      lane.push_back(plan.Lane(devices[i], LaneKind::compute));
    }
    // Each item has two ends on two lanes; the lanes' lists are then shuffled.
    std::vector<uint32_t> made;
    for (uint32_t i = 0; i < lanes; ++i) {
      made.push_back(g.Value("v", devices[i], DType::f32, {4}));
      g.Call(lane[i], plan.Kernel("iota"), {}, {made[i]});
    }
    for (uint32_t item = 0, items = 2 + below(9); item < items; ++item) {
      const uint32_t from = below(lanes), to = (from + 1 + below(lanes - 1)) % lanes;
      if (below(2) == 0) {
        g.Sync(lane[from], lane[to]);
      } else {
        const uint32_t got = g.Value("got", devices[to], DType::f32, {4});
        g.Transfer(g.Channel(lane[from], lane[to]), made[from], got);
      }
    }
    built = plan.Build();
    Graph& graph = *built->graphs[0];
    for (const Range& program : graph.programs) {
      if (program.count() < 2) continue;
      const auto first = graph.instructions.begin() + program.first() + 1;
      for (uint32_t swaps = below(4); swaps > 0; --swaps) {
        std::swap(first[below(program.count() - 1)], first[below(program.count() - 1)]);
      }
    }
  }
};

// Waits told in the shortest cycle; kFar when there is none. Node 2i: instruction i has started,
// 2i + 1: it is done.
uint32_t ShortestCycle(const Graph& graph) {
  const auto count = static_cast<uint32_t>(graph.instructions.size());
  std::vector<std::vector<uint32_t>> far(2 * count, std::vector<uint32_t>(2 * count, kFar));
  std::vector<uint32_t> signal(graph.events, kNone), send(graph.channels.size(), kNone);
  for (const Range& program : graph.programs) {
    for (uint32_t i = program.first(); i < program.first() + program.count(); ++i) {
      const Instruction& at = graph.instructions[i];
      if (at.kind() == Kind::signal) signal[at.subject()] = i;
      if (at.kind() == Kind::comm && graph.parts[at.first()].part() == Part::send) {
        send[graph.parts[at.first()].subject()] = i;
      }
      far[2 * i + 1][2 * i] = 0;
      for (uint32_t before = program.first(); before < i; ++before) {
        far[2 * i][2 * before + 1] = 1;
      }
    }
  }
  for (uint32_t i = 0; i < count; ++i) {
    const Instruction& at = graph.instructions[i];
    if (at.kind() == Kind::wait) {
      far[2 * i + 1][2 * signal[graph.waits[at.first()].event()] + 1] = 1;
    }
    if (at.kind() != Kind::comm || graph.parts[at.first()].part() == Part::send) continue;
    const uint32_t partner = send[graph.parts[at.first()].subject()];
    far[2 * i + 1][2 * partner] = far[2 * partner + 1][2 * i] = 1;
  }
  for (uint32_t k = 0; k < 2 * count; ++k) {
    for (uint32_t i = 0; i < 2 * count; ++i) {
      for (uint32_t j = 0; j < 2 * count; ++j) {
        far[i][j] = std::min(far[i][j], far[i][k] + far[k][j]);
      }
    }
  }
  uint32_t shortest = kFar;
  for (uint32_t node = 0; node < 2 * count; ++node) shortest = std::min(shortest, far[node][node]);
  return shortest;
}

TEST_CASE("no shorter cycle than the one that is told") {
  uint32_t hangs = 0, proved = 0, longer = 0;
  for (uint32_t seed = 0; seed < 1500; ++seed) {
    const Tangle tangle(seed);
    const uint32_t shortest = ShortestCycle(*tangle.built->graphs[0]);
    const Verdict verdict = Prove(*tangle.built);
    if (verdict.refusal == Refusal::kShape) continue;  // a send behind its receive, and the like
    INFO("seed " << seed << ": " << verdict.message);
    REQUIRE((verdict.refusal == Refusal::kDeadlock) == (shortest < kFar));
    proved += shortest == kFar;
    if (shortest == kFar) continue;
    ++hangs;
    longer += shortest > 4;
    REQUIRE(verdict.steps.size() == shortest);
  }
  CHECK(hangs > 200);
  CHECK(longer > 10);
  CHECK(proved > 100);
}

}  // namespace
}  // namespace cgraph::plan::testing
