// The prover's clocks against distances that are searched for each pair, on random plans of as many
// lanes as give trees of one, two and three levels, with and without lags.
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

// Returns how many rounds clocks look back for certain, in a graph of which `most_lag` + 1
// executions are in progress at once, with as many copies of the memory.
constexpr int64_t RoundsFor(uint32_t most_lag) { return 2 * (2 * int64_t{most_lag} + 1); }

// Returns by node the least distance of a path from `from`, by edges that memory may rely on but
// `left_out`.
std::vector<int64_t> DistancesFrom(const ConstraintGraph& constraints, const Lists<uint32_t>& out,
                                   uint32_t from, uint32_t left_out) {
  std::vector<int64_t> distances(constraints.nodes(), prove::kUnordered);
  distances[from] = 0;
  for (std::deque<uint32_t> open = {from}; !open.empty(); open.pop_front()) {
    const uint32_t node = open.front();
    for (uint32_t id : out.of(node)) {
      const prove::Edge& edge = constraints.edges()[id];
      const int64_t there = distances[node] + edge.distance;
      if (id == left_out || edge.credit || there >= distances[edge.to]) continue;
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

  // Calls lag by up to `most_lag` rounds, the last of them by so many.
  void Add(uint32_t count, uint32_t most_lag) {
    const uint32_t kernel = plan_.Kernel("iota");
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t from = Below(lanes_), to = Below(lanes_);
      switch (Below(6)) {
        case 0:
          graph_.Sync(from, to);
          break;
        case 1:
          SyncLater(from, to, most_lag);
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
          graph_.Lag(static_cast<uint16_t>(Below(most_lag + 1)));
      }
    }
    graph_.Call(0, kernel, {}, {value_});
    graph_.Lag(static_cast<uint16_t>(most_lag));
  }

 private:
  uint32_t Below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }

  // Adds a wait for the signal of a round before.
  void SyncLater(uint32_t from, uint32_t to, uint32_t most_lag) {
    if (!repeats_) return;
    const uint32_t event = graph_.Event();
    graph_.Wait(to, event, static_cast<uint16_t>(1 + Below(2 + most_lag)));
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

struct Compared {
  uint64_t ordered = 0, wrong = 0;  // pairs
};

// Compares all pairs of a graph; the search goes without the edge `left_out`.
Compared Compare(const Plan& plan, const Graph& graph, uint32_t most_lag,
                 uint32_t left_out = kNone) {
  GraphIndex index(plan, graph);
  index.IndexMessages();
  const ConstraintGraph constraints(index, std::nullopt);
  const auto out = prove::EdgesBy(&prove::Edge::from, constraints.nodes(), constraints.edges());
  const std::vector<uint32_t> order = prove::TopologicalOrder(constraints, out);
  REQUIRE(order.size() == constraints.nodes());
  const prove::VectorClocks clocks(constraints, order);
  REQUIRE(clocks.fitted());
  Compared compared;
  const uint32_t count = static_cast<uint32_t>(graph.instructions.size());
  for (uint32_t x = 0; x < count; ++x) {
    const auto distances = DistancesFrom(constraints, out, constraints.done(x), left_out);
    for (uint32_t y = 0; y < count; ++y) {
      const int64_t expected = distances[constraints.start(y)], got = clocks.Distance(x, y);
      // An instruction is at distance 0 of itself in the search, one round in the clocks.
      const bool far = expected > RoundsFor(most_lag) && got == prove::kUnordered;
      compared.wrong += x != y && expected != got && !far;
      if (got == prove::kUnordered) continue;
      ++compared.ordered;
      // Executions whose part x is so much earlier, and y so much, are so much nearer.
      const int64_t shift = got + graph.instructions[x].lag() - graph.instructions[y].lag();
      compared.wrong += clocks.LeastShift(x, y) != shift || !clocks.Before(x, y, shift) ||
                        clocks.Before(x, y, shift - 1);
    }
  }
  return compared;
}

// A graph of `lanes` lanes that is executed again and again, or the start graph.
const Graph& AddRandomGraph(PlanBuilder& builder, std::unique_ptr<Plan>& built, uint32_t lanes,
                            bool repeats, uint32_t seed, uint32_t most_lag) {
  const uint32_t device = builder.Device(DeviceKind::cpu, 0);
  for (uint32_t lane = 0; lane < lanes; ++lane) builder.Lane(device, LaneKind::copy);
  GraphBuilder& graph = repeats ? builder.Graph("main", most_lag + 1) : builder.Start();
  RandomGraph(builder, graph, lanes, repeats, seed).Add(3 * lanes + seed, most_lag);
  built = builder.Build();
  return repeats ? *built->graphs[0] : *built->start;
}

TEST_CASE("clocks know what a search of each pair finds") {
  uint64_t ordered = 0;
  for (const uint32_t lanes : {1u, 2u, 5u, 16u, 17u, 40u, 256u, 257u, 300u}) {
    for (uint32_t seed = 0; seed < (lanes > 100 ? 2u : 12u); ++seed) {
      for (const bool repeats : {true, false}) {
        const uint32_t most_lag = repeats ? seed % 2 * 3 : 0;
        PlanBuilder builder;
        std::unique_ptr<Plan> plan;
        const Graph& graph = AddRandomGraph(builder, plan, lanes, repeats, seed, most_lag);
        INFO("seed " << seed << ", " << lanes << " lanes, " << graph.instructions.size()
                     << " instructions, " << (repeats ? "repeats" : "runs once"));
        const Compared compared = Compare(*plan, graph, most_lag);
        CHECK(compared.wrong == 0);
        ordered += compared.ordered;
      }
    }
  }
  INFO(ordered << " ordered pairs");
  REQUIRE(ordered > 100'000);
}

TEST_CASE("a search without one of the edges finds other distances") {
  PlanBuilder builder;
  std::unique_ptr<Plan> plan;
  const Graph& graph = AddRandomGraph(builder, plan, /*lanes=*/5, /*repeats=*/true, /*seed=*/1,
                                      /*most_lag=*/3);
  uint32_t found = 0;
  constexpr uint32_t kEdges = 40;
  for (uint32_t edge = 0; edge < kEdges; ++edge) {
    found += Compare(*plan, graph, /*most_lag=*/3, edge).wrong > 0;
  }
  CHECK(found > kEdges / 2);  // other edges say nothing new, or are credit
}

}  // namespace
}  // namespace cgraph::plan::testing
