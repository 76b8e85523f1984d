#include "compiler/schedule/ir.h"

#include <algorithm>

namespace cgraph::schedule {
namespace {

// Fast path: most graphs have no lags.
template <typename Id, typename Ids, typename LagOf>
std::vector<Id> InOrderOfLags(const Ids& ids, const LagOf& lag_of) {
  std::vector<Id> order;
  for (Id id : ids) order.push_back(id);
  const auto before = [&](Id a, Id b) { return lag_of(a) < lag_of(b); };
  if (!std::is_sorted(order.begin(), order.end(), before)) {
    std::stable_sort(order.begin(), order.end(), before);
  }
  return order;
}

}  // namespace

uint64_t Schedule::ExpectedPs(UnitId id) const {
  const ScheduleUnit& unit = units[id];
  uint64_t sum = 0;
  for (uint32_t i = 0; i < unit.count; ++i) sum += steps[StepId(unit.first.index + i)].expected_ps;
  return sum;
}

uint32_t Schedule::LongestLag() const {
  uint32_t longest = 0;
  for (const Step& step : steps) longest = std::max(longest, step.lag);
  return longest;
}

std::vector<UnitId> Schedule::ExecutionOrder() const {
  return InOrderOfLags<UnitId>(units.Ids(), [this](UnitId unit) { return FirstStep(unit).lag; });
}

std::vector<uint32_t> Schedule::Moments() const {
  const std::vector<StepId> order =
      InOrderOfLags<StepId>(steps.Ids(), [this](StepId step) { return steps[step].lag; });
  std::vector<uint32_t> moments(steps.size());
  for (uint32_t i = 0; i < order.size(); ++i) moments[order[i].index] = i;
  return moments;
}

}  // namespace cgraph::schedule
