// The prover's clocks against distances that are searched for each pair, on random plans of as many
// lanes as give trees of one, two and three levels.
#include <deque>
#include <random>

#include "runtime/plan/graph_index.h"
#include "runtime/plan/prove/edges.h"
#include "runtime/plan/prove/rules.h"
#include "runtime/plan/prove/vector_clocks.h"
#include "tests/support/plans/proved.h"

namespace cgraph::plan::testing {
namespace {

using prove::ConstraintGraph;

// How many rounds clocks look back for certain where nothing lags and there is one copy.
constexpr int64_t kRounds = 2;

// Returns by node the least distance of a path from `from`, by edges that memory may rely on.
std::vector<int64_t> DistancesFrom(const ConstraintGraph& constraints, const prove::Adjacency& out,
                                   uint32_t from) {
  std::vector<int64_t> distances(constraints.nodes(), prove::kUnordered);
  distances[from] = 0;
  for (std::deque<uint32_t> open = {from}; !open.empty(); open.pop_front()) {
    const uint32_t node = open.front();
    for (uint32_t id : out.of(node)) {
      const prove::Edge& edge = constraints.edges()[id];
      const int64_t there = distances[node] + edge.distance;
      if (edge.credit || there >= distances[edge.to]) continue;
      distances[edge.to] = there;
      open.push_back(edge.to);
    }
  }
  return distances;
}

// Adds random work to a graph: each lane's list grows at its end, so nothing waits in a circle but
// through rounds before.
class RandomGraph {
 public:
  RandomGraph(PlanBuilder& plan, GraphBuilder& graph, uint32_t lanes, bool repeats, uint32_t seed)
      : plan_(plan), graph_(graph), lanes_(lanes), repeats_(repeats), random_(seed) {}

  void Add(uint32_t count) {
    const uint32_t kernel = plan_.Kernel("iota");
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t from = Below(lanes_), to = Below(lanes_);
      switch (Below(6)) {
        case 0:
          graph_.Sync(from, to);
          break;
        case 1:
          SyncLater(from, to);
          break;
        case 2:
          if (from != to) graph_.Transfer(graph_.Channel(from, to, Below(2)), value_, value_);
          break;
        case 3:
          AddCollective(from);
          break;
        case 4:
          for (uint32_t k = Below(3); k-- > 0;) {
            graph_.Call(from, kernel, {}, {value_});
            graph_.Capture(i + 1);
          }
          break;
        default:
          graph_.Call(from, kernel, {}, {value_});
      }
    }
  }

 private:
  uint32_t Below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }

  // Adds a wait for the signal of a round before.
  void SyncLater(uint32_t from, uint32_t to) {
    if (!repeats_) return;
    const uint32_t event = graph_.Event();
    graph_.Wait(to, event, static_cast<uint16_t>(1 + Below(2)));
    graph_.Signal(from, event);
  }
  void AddCollective(uint32_t first) {
    const uint32_t members = std::min(lanes_, 2 + Below(3));
    std::vector<uint32_t> lanes;
    for (uint32_t i = 0; i < members; ++i) lanes.push_back((first + i * 7) % lanes_);
    std::sort(lanes.begin(), lanes.end());
    lanes.erase(std::unique(lanes.begin(), lanes.end()), lanes.end());
    const uint32_t group = plan_.Communicator(lanes);
    const char* kind = Below(2) == 0 ? "all_reduce" : "broadcast";
    const uint32_t collective = graph_.Collective(kind, group, *kind == 'a' ? "sum" : "");
    for (uint32_t lane : lanes) graph_.Part(lane, collective, {value_}, {value_});
  }

  PlanBuilder& plan_;
  GraphBuilder& graph_;
  const uint32_t lanes_;
  const bool repeats_;
  std::mt19937 random_;
  const uint32_t value_ = graph_.Value("v", PlanBuilder::kCaller, DType::f32, {4});
};

// Compares all pairs of a graph. Returns how many were ordered.
uint64_t Compare(const Plan& plan, const Graph& graph) {
  GraphIndex index(plan, graph);
  index.IndexMessages();
  const ConstraintGraph constraints(index, std::nullopt);
  const prove::Adjacency out(constraints.nodes(), constraints.edges(),
                             prove::Adjacency::End::kFrom);
  const std::vector<uint32_t> order = prove::TopologicalOrder(constraints, out);
  REQUIRE(order.size() == constraints.nodes());
  const prove::VectorClocks clocks(constraints, order);
  REQUIRE(clocks.fitted());
  uint64_t ordered = 0, wrong = 0;
  const uint32_t count = static_cast<uint32_t>(graph.instructions.size());
  for (uint32_t x = 0; x < count; ++x) {
    const std::vector<int64_t> distances = DistancesFrom(constraints, out, constraints.done(x));
    for (uint32_t y = 0; y < count; ++y) {
      const int64_t expected = distances[constraints.start(y)], got = clocks.Distance(x, y);
      // An instruction is at distance 0 of itself in the search, one round in the clocks.
      const bool far = expected > kRounds && got == prove::kUnordered;
      ordered += got != prove::kUnordered;
      wrong += x != y && expected != got && !far;
    }
  }
  INFO(count << " instructions on " << graph.programs.size() << " lanes");
  CHECK(wrong == 0);
  return ordered;
}

TEST_CASE("clocks know what a search of each pair finds") {
  uint64_t ordered = 0;
  for (const uint32_t lanes : {1u, 2u, 5u, 16u, 17u, 40u, 256u, 257u, 300u}) {
    for (uint32_t seed = 0; seed < (lanes > 100 ? 2u : 12u); ++seed) {
      for (const bool repeats : {true, false}) {
        PlanBuilder plan;
        const uint32_t device = plan.Device(DeviceKind::cpu, 0);
        for (uint32_t lane = 0; lane < lanes; ++lane) plan.Lane(device, LaneKind::copy);
        GraphBuilder& graph = repeats ? plan.Graph("main") : plan.Start();
        RandomGraph(plan, graph, lanes, repeats, seed).Add(3 * lanes + seed);
        const auto built = plan.Build();
        INFO("seed " << seed << ", " << (repeats ? "repeats" : "runs once"));
        ordered += Compare(*built, repeats ? *built->graphs[0] : *built->start);
      }
    }
  }
  INFO(ordered << " ordered pairs");
  REQUIRE(ordered > 100'000);
}

}  // namespace
}  // namespace cgraph::plan::testing
