#include "runtime/plan/prove/vector_clocks.h"

#include <algorithm>

namespace cgraph::plan::prove {
namespace {

constexpr int32_t kNever = -(1 << 30);              // nothing of the lane is known to be done
constexpr uint64_t kMaxClocks = uint64_t{1} << 28;  // 1 GiB
constexpr uint64_t kRelaxBudget = 20'000'000'000;   // numbers compared before giving up

uint32_t Columns(const Graph& graph) {
  return static_cast<uint32_t>(
      std::count_if(graph.programs.begin(), graph.programs.end(),
                    [](const Range& program) { return program.count() > 0; }));
}

}  // namespace

bool VectorClocks::Fit(const ConstraintGraph& constraints) {
  return uint64_t{constraints.nodes()} * Columns(constraints.index().graph()) <= kMaxClocks;
}

VectorClocks::VectorClocks(const ConstraintGraph& constraints, const Adjacency& out,
               const std::vector<uint32_t>& order)
    : constraints_(constraints), column_(constraints.index().graph().programs.size(), kNone) {
  for (uint32_t lane = 0; lane < column_.size(); ++lane) {
    if (constraints.index().length(lane) == 0) continue;
    column_[lane] = columns_++;
    lengths_.push_back(constraints.index().length(lane));
  }
  clocks_.assign(uint64_t{constraints.nodes()} * columns_, kNever);

  // A node passes its clock on whenever it has changed. What is known is always true, so stopping
  // early (only hostile plans need that many rounds) can refuse a plan, never accept one.
  std::vector<uint8_t> changed(constraints.nodes(), 1);
  uint64_t spent = 0;
  for (bool again = true; again && spent < kRelaxBudget;) {
    again = false;
    for (uint32_t node : order) {
      if (changed[node] == 0) continue;
      changed[node] = 0;
      for (uint32_t id : out.of(node)) {
        const Edge& edge = constraints.edges()[id];
        if (edge.credit) continue;
        spent += columns_;
        if (!Relax(edge)) continue;
        changed[edge.to] = 1;
        again = again || edge.distance > 0;
      }
    }
  }
}

// What is known at `from` is known at `to`, `distance` rounds later.
bool VectorClocks::Relax(const Edge& edge) {
  const int32_t* from = Row(edge.from);
  int32_t* to = Row(edge.to);
  bool changed = false;
  if (edge.distance == 0) {
    for (uint32_t c = 0; c < columns_; ++c) {
      changed |= from[c] > to[c];
      to[c] = std::max(to[c], from[c]);
    }
  } else {
    for (uint32_t c = 0; c < columns_; ++c) {
      const int64_t rounds = std::min<int64_t>(edge.distance * lengths_[c], -int64_t{kNever});
      const int32_t clock = std::max(from[c] - static_cast<int32_t>(rounds), kNever);
      changed |= clock > to[c];
      to[c] = std::max(to[c], clock);
    }
  }
  if (!constraints_.is_done(edge.from)) return changed;
  const uint32_t instruction = edge.from;
  const uint32_t column = column_[constraints_.index().lane(instruction)];
  const int64_t own = constraints_.index().position(instruction) - edge.distance * lengths_[column];
  if (own > to[column]) {
    to[column] = static_cast<int32_t>(own);
    changed = true;
  }
  return changed;
}

int64_t VectorClocks::Distance(uint32_t x, uint32_t y) const {
  const uint32_t column = column_[constraints_.index().lane(x)];
  const int64_t clock = Row(constraints_.start(y))[column];
  if (clock == kNever) return kUnordered;
  const int64_t behind = constraints_.index().position(x) - clock;
  if (behind <= 0) return 0;
  if (constraints_.index().runs_once()) return kUnordered;  // there is no round before
  return (behind + lengths_[column] - 1) / lengths_[column];
}

}  // namespace cgraph::plan::prove
