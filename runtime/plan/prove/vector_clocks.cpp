#include "runtime/plan/prove/vector_clocks.h"

#include <algorithm>

namespace cgraph::plan::prove {
namespace {

constexpr uint64_t kMaxNodes = uint64_t{1} << 23;  // of trees: about 1 GiB
constexpr uint64_t kVisitBudget = 500'000'000;     // of nodes, before giving up

// Rules ask whether something is done an execution before, in the same copy, of two that may lag:
// about no more rounds than this.
uint32_t MostRounds(const Graph& graph) {
  uint32_t copies = 1, lag = 0;
  for (const Arena& arena : graph.arenas) copies = std::max<uint32_t>(copies, arena.copies());
  for (const Instruction& one : graph.instructions) lag = std::max<uint32_t>(lag, one.lag());
  return 2 * (copies + lag) + 1;
}

// A plan's file ends at 2 GiB, so it is far from 2^29.
int32_t LongestLane(const GraphIndex& index) {
  uint32_t longest = 1;
  for (const Range& program : index.graph().programs) longest = std::max(longest, program.count());
  return static_cast<int32_t>(longest);
}

}  // namespace

VectorClocks::VectorClocks(const ConstraintGraph& constraints, const Adjacency& out,
                           const std::vector<uint32_t>& order)
    : constraints_(constraints),
      stride_(LongestLane(constraints.index())),
      trees_(static_cast<uint32_t>(constraints.index().graph().programs.size()), stride_,
             MostRounds(constraints.index().graph())),
      clocks_(constraints.nodes()) {
  const Adjacency in(constraints.nodes(), constraints.edges(), Adjacency::End::kTo);
  // A node whose sources have changed is made anew of all of them. It says no less than before, as
  // they do not. Every entry is true at any time, so stopping early (only hostile plans need that
  // many rounds) can refuse a plan, never accept one.
  std::vector<uint8_t> stale(constraints.nodes(), 1);
  for (bool again = true; again && fitted_ && trees_.visited() < kVisitBudget;) {
    again = false;
    for (uint32_t node : order) {
      if (stale[node] == 0) continue;
      stale[node] = 0;
      if (!Update(node, in)) continue;
      for (uint32_t id : out.of(node)) {
        const Edge& edge = constraints.edges()[id];
        if (edge.credit) continue;
        stale[edge.to] = 1;
        again = again || edge.distance > 0;
      }
      fitted_ = fitted_ && trees_.nodes() <= kMaxNodes;
      if (!fitted_) break;
    }
  }
}

// Makes a node's clock anew. Returns whether it says more than before.
bool VectorClocks::Update(uint32_t node, const Adjacency& in) {
  Clock clock;
  for (uint32_t id : in.of(node)) {
    if (!constraints_.edges()[id].credit) Add(clock, constraints_.edges()[id]);
  }
  return trees_.Replace(clocks_[node], clock);
}

// Adds to the clock of `edge.to` what is known at `edge.from`, `distance` rounds later, and how far
// the lane of `edge.from` has come. No clock says that of its node's own lane: the node does.
void VectorClocks::Add(Clock& to, const Edge& edge) {
  trees_.Join(to, clocks_[edge.from], edge.distance);
  const uint32_t from = constraints_.instruction(edge.from);
  const uint32_t at = constraints_.instruction(edge.to);
  if (from == kNone) return;
  const GraphIndex& index = constraints_.index();
  const uint32_t lane = index.lane(from);
  if (at != kNone && index.lane(at) == lane) return;
  int64_t position = index.position(from);
  if (!constraints_.is_done(edge.from)) --position;
  if (position < 0) {  // the lane has come to the end of the round before
    if (index.runs_once()) return;
    position = int64_t{index.length(lane)} - 1 - stride_;
  }
  trees_.Raise(to, lane, position - int64_t{edge.distance} * stride_);
}

// The lane's instruction at `position` is done `rounds` rounds before; x is, in that round or the
// one before.
int64_t VectorClocks::Distance(uint32_t x, uint32_t y) const {
  const GraphIndex& index = constraints_.index();
  if (index.lane(x) == index.lane(y)) {
    if (index.position(x) < index.position(y)) return 0;
    return index.runs_once() ? kUnordered : 1;
  }
  const int64_t number = trees_.Number(clocks_[constraints_.start(y)], index.lane(x));
  if (number == ClockTrees::kUnknown) return kUnordered;
  const int64_t rounds = number >= 0 ? 0 : (-number + stride_ - 1) / stride_;
  const int64_t position = number + rounds * stride_;
  const int64_t distance = index.position(x) > position ? rounds + 1 : rounds;
  if (distance > 0 && index.runs_once()) return kUnordered;  // there is no round before
  return distance;
}

}  // namespace cgraph::plan::prove
