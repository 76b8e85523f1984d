// Orders: simulated annealing on the total order itself.
//
// An order that keeps the dependencies gives a timetable (serial_scheduler.h). Some such order
// gives the best timetable there is, so nothing is excluded here. A move takes one task to another
// place between its last predecessor and its first successor.
#include <algorithm>
#include <cmath>

#include "compiler/schedule/ordering/search/counter_random.h"
#include "compiler/schedule/ordering/search/search.h"
#include "compiler/schedule/ordering/search/serial_scheduler.h"

namespace cgraph::schedule {
namespace {

constexpr size_t kMostTasks = 20'000;  // of larger graphs too few orders can be tried to help

class OrderSearch {
 public:
  OrderSearch(const Tasks& tasks, Goal goal, EffortBudget& budget, BestK& best)
      : tasks_(tasks), goal_(goal), budget_(budget), best_(best), scheduler_(tasks) {}

  void Run() {
    constexpr int kRounds = 8;  // each from the best so far
    for (int round = 0; round < kRounds; ++round) {
      Anneal(budget_.left() / (kRounds - round));
    }
  }

 private:
  void Anneal(int64_t budget) {
    order_ = best_.table().order;
    places_.resize(order_.size());
    for (uint32_t place = 0; place < order_.size(); ++place) places_[order_[place]] = place;
    Cost now = best_.cost();
    const double all = static_cast<double>(budget);
    const double heat = static_cast<double>(best_.cost().goal) / 50;
    const int64_t before = budget_.left();
    while (before - budget_.left() < budget) {
      const auto task = static_cast<uint32_t>(random_.Below(order_.size()));
      const uint32_t from = places_[task];
      const uint32_t to = PlaceFor(task);
      if (to == from) {
        budget_.Spend(1);
        continue;
      }
      Move(from, to);
      const Cost cost = Evaluate();
      const double rest = 1 - static_cast<double>(before - budget_.left()) / all;
      const auto slack = static_cast<uint64_t>(std::max(
          0.0, -heat * rest * rest *
                   std::log((static_cast<double>(random_.Below(1 << 20)) + 1) / (1 << 20))));
      if (cost < now || (cost.goal != UINT64_MAX && cost.goal <= now.goal + slack)) {
        now = cost;
        if (cost < best_.cost()) Keep(cost);
      } else {
        Move(to, from);
      }
    }
  }

  // Returns a position between the task's predecessors and its successors.
  uint32_t PlaceFor(uint32_t task) {
    uint32_t low = 0, high = static_cast<uint32_t>(order_.size()) - 1;
    for (uint32_t before : tasks_.predecessors[task]) low = std::max(low, places_[before] + 1);
    for (uint32_t after : tasks_.successors[task]) high = std::min(high, places_[after] - 1);
    return low + static_cast<uint32_t>(random_.Below(high - low + 1));
  }

  void Move(uint32_t from, uint32_t to) {
    const auto begin = order_.begin();
    if (from < to) {
      std::rotate(begin + from, begin + from + 1, begin + to + 1);
    } else {
      std::rotate(begin + to, begin + from, begin + from + 1);
    }
    for (uint32_t place = std::min(from, to); place <= std::max(from, to); ++place) {
      places_[order_[place]] = place;
    }
  }

  // Returns the cost; the greatest when the order cannot go on.
  Cost Evaluate() {
    budget_.Spend(tasks_.size());
    return scheduler_.Place(order_) ? CostOf(tasks_, scheduler_.starts(), goal_) : Cost{};
  }

  // Keeps an order: tasks stand as they start, those that start at one moment as in the order.
  void Keep(const Cost& cost) {
    Timetable table{scheduler_.starts(), order_, goal_ == Goal::kMakespan ? cost.goal : cost.other};
    std::stable_sort(table.order.begin(), table.order.end(), [&](uint32_t a, uint32_t b) {
      return table.starts[a] < table.starts[b];
    });
    best_.Offer(std::move(table), cost);
    if (best_.perfect()) budget_.End();
  }

  const Tasks& tasks_;
  const Goal goal_;
  EffortBudget& budget_;
  BestK& best_;
  CounterRandom random_;
  std::vector<uint32_t> order_, places_;  // tasks by place, places by task
  SerialScheduler scheduler_;
};

}  // namespace

void SearchOrders(const Tasks& tasks, Goal goal, EffortBudget& budget, BestK& best) {
  if (best.empty() || tasks.size() > kMostTasks || tasks.size() < 2) return;
  OrderSearch(tasks, goal, budget, best).Run();
}

}  // namespace cgraph::schedule
