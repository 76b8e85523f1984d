// Rules: members of the family to which the schedules of pipelines belong (rule_family.h) are
// tried, first roughly all over the family, then one number at a time from the best few, then lane
// by lane.
#include <algorithm>

#include "compiler/schedule/ordering/list/list_schedule.h"
#include "compiler/schedule/ordering/search/counter_random.h"
#include "compiler/schedule/ordering/search/rule_family.h"
#include "compiler/schedule/ordering/search/search.h"

namespace cgraph::schedule {
namespace {

struct Trial {
  PolicyParams params;
  Cost cost;
};

class RuleSearch {
 public:
  RuleSearch(const Tasks& tasks, Goal goal, EffortBudget& budget, BestK& best)
      : family_(tasks), tasks_(family_.tasks()), goal_(goal), budget_(budget), best_(best) {}

  void Run() {
    std::vector<Trial> trials = TryRoughly();
    if (!family_.bounded() || trials.empty()) return;
    SortByCost(trials);
    constexpr size_t kRefined = 4;
    trials.resize(std::min(trials.size(), kRefined));
    for (Trial& trial : trials) Refine(trial);
    SortByCost(trials);
    RefineLanes(trials.front());
  }

 private:
  static void SortByCost(std::vector<Trial>& trials) {
    std::stable_sort(trials.begin(), trials.end(),
                     [](const Trial& a, const Trial& b) { return a.cost < b.cost; });
  }

  Cost Try(const Policy& policy) {
    budget_.Spend(tasks_.size());
    Timetable table = ListSchedule(tasks_, policy);
    if (table.order.size() < tasks_.size()) return Cost{};  // something waits for ever
    const Cost cost = CostOf(tasks_, table.starts, goal_);
    best_.Offer(std::move(table), cost);
    if (best_.perfect()) budget_.LeaveFew();
    if (best_.done()) budget_.End();
    return cost;
  }

  Trial Try(const PolicyParams& params) {
    return {params, Try(family_.PolicyOf(params, family_.BoundsOf(params)))};
  }

  // Returns the members that can go on.
  std::vector<Trial> TryRoughly() {
    std::vector<Trial> trials;
    for (const auto& members : {family_.Library(), family_.Spread()}) TryAll(members, trials);
    if (trials.empty()) TryAll(family_.Unlimited(), trials);
    return trials;
  }
  void TryAll(const std::vector<PolicyParams>& members, std::vector<Trial>& trials) {
    for (const PolicyParams& params : members) {
      if (budget_.over() && tried_) return;
      const Trial trial = Try(params);
      tried_ = true;
      if (trial.cost.goal != UINT64_MAX) trials.push_back(trial);
    }
  }

  // Varies one parameter after the other, until none helps.
  void Refine(Trial& trial) {
    for (bool better = true; better && !budget_.over();) {
      better = false;
      for (const PolicyParams& params : family_.Neighbours(trial.params)) {
        if (budget_.over()) return;
        const Trial other = Try(params);
        if (!(other.cost < trial.cost)) continue;
        trial = other;
        better = true;
      }
    }
  }

  // Varies the bounds of single lanes, and of a few neighbours together, by simulated annealing.
  void RefineLanes(const Trial& trial) {
    const int64_t before = budget_.left(), share = before / 2;
    Bounds now = family_.BoundsOf(trial.params);
    Policy policy = family_.PolicyOf(trial.params, now);
    Cost cost = trial.cost;
    CounterRandom random;
    const double all = static_cast<double>(share);
    const double scale = static_cast<double>(*std::max_element(tasks_.durations.begin(),
                                                               tasks_.durations.end())) / 2;
    while (before - budget_.left() < share) {
      Bounds other = Changed(now, random);
      policy.limits = family_.Limits(trial.params, other);
      const Cost tried = Try(policy);
      if (tried.goal == UINT64_MAX) continue;
      const double rest = 1 - static_cast<double>(before - budget_.left()) / all;
      const auto slack = static_cast<uint64_t>(scale * rest * rest * random.Below(1000) / 4000);
      if (tried < cost || tried.goal <= cost.goal + slack) {
        now = std::move(other);
        cost = tried;
      }
    }
  }

  // Returns the bounds with those of one sort, on one lane or some that stand together, a little
  // higher or lower.
  Bounds Changed(Bounds bounds, CounterRandom& random) const {
    const size_t first = random.Below(family_.positions());
    const size_t count = 1 + random.Below(random.Below(4) == 0 ? family_.positions() : 3);
    const int64_t change = (random.Below(2) == 0 ? 1 : -1) * (1 + random.Below(2));
    std::vector<int64_t>* const sorts[] = {&bounds.ahead, &bounds.behind, &bounds.out};
    const size_t sort = random.Below(family_.deep() ? 3 : 2);
    const auto most = static_cast<int64_t>(tasks_.size());
    const int64_t least = sorts[sort] == &bounds.behind ? 0 : 1;
    for (size_t i = first; i < std::min(first + count, sorts[sort]->size()); ++i) {
      int64_t& bound = (*sorts[sort])[i];
      bound = std::clamp(std::min(bound, most) + change, least, most);
    }
    return bounds;
  }

  const RuleFamily family_;
  const Tasks& tasks_;
  const Goal goal_;
  EffortBudget& budget_;
  BestK& best_;
  bool tried_ = false;
};

}  // namespace

void SearchRules(const Tasks& tasks, Goal goal, EffortBudget& budget, BestK& best) {
  RuleSearch(tasks, goal, budget, best).Run();
}

}  // namespace cgraph::schedule
