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

VectorClocks::VectorClocks(const ConstraintGraph& constraints, const std::vector<uint32_t>& order)
    : constraints_(constraints),
      stride_(LongestLane(constraints.index())),
      trees_(static_cast<uint32_t>(constraints.index().graph().programs.size()), stride_,
             MostRounds(constraints.index().graph())),
      clocks_(constraints.nodes()) {
  const Lists<Source> sources(constraints.nodes(), [&](auto add) {
    for (const Edge& edge : constraints.edges()) {
      if (!edge.credit) add(edge.to, {edge.from, edge.distance});
    }
  });
  std::vector<uint32_t> of_later_rounds;  // nodes that others wait for in a later round
  for (const Edge& edge : constraints.edges()) {
    if (!edge.credit && edge.distance > 0) of_later_rounds.push_back(edge.from);
  }
  // A node whose sources have changed is made anew of all of them. It says no less than before, as
  // they do not. Every entry is true at any time, so stopping early (only hostile plans need that
  // many passes) can refuse a plan, never accept one.
  std::vector<uint32_t> changed(constraints.nodes(), 0);  // the pass in which it last has
  uint32_t pass = 0;
  const auto has_changed = [&](uint32_t node) { return changed[node] == pass; };
  do {
    ++pass;
    const auto stale = [&](const Source& source) {
      return changed[source.node] + (source.distance > 0 ? 1 : 0) >= pass;
    };
    for (uint32_t node : order) {
      const std::span<const Source> of_node = sources.of(node);
      if (pass > 1 && std::none_of(of_node.begin(), of_node.end(), stale)) continue;
      Clock clock;
      for (const Source& source : of_node) Add(clock, node, source);
      if (trees_.Replace(clocks_[node], clock)) changed[node] = pass;
      fitted_ = trees_.nodes() <= kMaxNodes;
      if (!fitted_) return;
    }
  } while (trees_.visited() < kVisitBudget && std::ranges::any_of(of_later_rounds, has_changed));
}

// Adds to a node's clock what is known at a source of it, and how far the source's lane has come.
// What a clock says of its node's own lane is not raised and may be behind: Distance() compares
// positions there.
void VectorClocks::Add(Clock& clock, uint32_t node, const Source& source) {
  trees_.Join(clock, clocks_[source.node], source.distance);
  const uint32_t from = constraints_.instruction(source.node);
  const uint32_t to = constraints_.instruction(node);
  if (from == kNone) return;
  const GraphIndex& index = constraints_.index();
  const uint32_t lane = index.lane(from);
  if (to != kNone && index.lane(to) == lane) return;
  int64_t position = index.position(from);
  if (!constraints_.is_done(source.node)) --position;
  if (position < 0) {  // the lane has come to the end of the round before
    if (index.runs_once()) return;
    position = int64_t{index.length(lane)} - 1 - stride_;
  }
  trees_.Raise(clock, lane, position - int64_t{source.distance} * stride_);
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
