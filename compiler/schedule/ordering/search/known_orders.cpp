// Known orders: the orders that a search must not be worse than.
#include <algorithm>
#include <numeric>
#include <utility>

#include "compiler/schedule/ordering/list/list_schedule.h"
#include "compiler/schedule/ordering/search/search.h"
#include "compiler/schedule/ordering/search/serial_scheduler.h"
#include "compiler/schedule/ordering/serial/place_serially.h"

namespace cgraph::schedule {
namespace {

constexpr uint32_t kMostInserted = 100'000;  // tasks; gaps between more take long to look through

class KnownOrdersTrial {
 public:
  KnownOrdersTrial(const Tasks& tasks, Goal goal, EffortBudget& budget, BestK& best)
      : tasks_(tasks), goal_(goal), budget_(budget), best_(best), scheduler_(tasks) {}

  void Try(const Policy& policy) { Offer(ListSchedule(tasks_, policy)); }

  // Tries an order: each task starts as early as the lanes' order lets it.
  void Try(std::vector<uint32_t> order) {
    if (order.empty() || !scheduler_.Place(order)) return Spend();
    Timetable table{scheduler_.starts(), std::move(order)};
    std::stable_sort(table.order.begin(), table.order.end(), [&](uint32_t a, uint32_t b) {
      return table.starts[a] < table.starts[b];
    });
    for (uint32_t task = 0; task < tasks_.size(); ++task) {
      table.makespan = std::max(table.makespan, table.starts[task] + tasks_.durations[task]);
    }
    Offer(std::move(table));
  }

  // HEFT: the longest remaining path first, each task in the first gap of its lanes.
  void TryInsertion() {
    if (tasks_.size() > kMostInserted) return;
    std::vector<uint32_t> order(tasks_.size());
    std::iota(order.begin(), order.end(), 0);
    const std::vector<uint64_t> paths = RemainingPaths(tasks_);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return paths[a] > paths[b]; });
    // One after the other, and a moment more.
    const uint64_t all =
        std::accumulate(tasks_.durations.begin(), tasks_.durations.end(), uint64_t{1});
    Spend();
    const std::optional<Timetable> table =
        PlaceSerially(tasks_, /*policy=*/{}, /*carried=*/{},
                      {.period = all, .most = 1, .least_length = 0}, order);
    if (!table) return;
    // What takes no time comes before what starts at the same moment and takes some: none of it
    // needs that.
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return std::pair(table->starts[a], tasks_.durations[a] > 0) <
             std::pair(table->starts[b], tasks_.durations[b] > 0);
    });
    Try(std::move(order));
  }

 private:
  void Spend() { budget_.Spend(tasks_.size()); }
  void Offer(Timetable table) {
    Spend();
    if (table.order.size() < tasks_.size()) return;  // something waits for ever
    const Cost cost = CostOf(tasks_, table.starts, goal_);
    best_.Offer(std::move(table), cost);
  }

  const Tasks& tasks_;
  const Goal goal_;
  EffortBudget& budget_;
  BestK& best_;
  SerialScheduler scheduler_;
};

}  // namespace

void TryKnownOrders(const Tasks& tasks, const KnownOrders& known, Goal goal, EffortBudget& budget,
                    BestK& best) {
  KnownOrdersTrial trial(tasks, goal, budget, best);
  trial.Try(known.order);
  for (const Policy& policy : known.policies) trial.Try(policy);
  trial.TryInsertion();
}

}  // namespace cgraph::schedule
