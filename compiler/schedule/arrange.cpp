// Arrange: a better order than the program's, where the program leaves a choice.
//
// Without rules each device makes its calls in program order, and what travels is ordered by when
// it can travel; with rules calls are ordered too. Both ends of a transfer and all parts of a
// collective start as one task, so every order found here is one in which nothing waits for ever.
#include <algorithm>
#include <map>
#include <numeric>

#include "compiler/base/check.h"
#include "compiler/schedule/dependencies.h"
#include "compiler/schedule/passes.h"
#include "compiler/schedule/tasks.h"

namespace cgraph::schedule {
namespace {

using graph::CallId;

class TaskMaker {
 public:
  TaskMaker(const graph::Graph& graph, const Schedule& schedule)
      : graph_(graph), schedule_(schedule) {
    GroupUnits();
    AddLimits();
    AddTasks();
    AddDependencies();
    AddSequences();
  }

  const Tasks& tasks() const { return tasks_; }

  // The units of each task, in the order in which they shall stand.
  const std::vector<std::vector<UnitId>>& members() const { return members_; }

  // By task; see language.md for what comes first.
  std::vector<uint32_t> Ranks() const {
    const std::vector<uint64_t> paths = RemainingPaths(tasks_);
    std::vector<uint32_t> sorted(tasks_.size());
    std::iota(sorted.begin(), sorted.end(), 0);
    std::sort(sorted.begin(), sorted.end(), [&](uint32_t a, uint32_t b) {
      const auto classes = std::pair(ClassOf(a), ClassOf(b));
      if (classes.first != classes.second) return classes.first < classes.second;
      const int ranking = CompareKeys(RuleOf(a), RuleOf(b));
      if (ranking != 0) return ranking < 0;
      if (paths[a] != paths[b]) return paths[a] > paths[b];
      return a < b;
    });
    std::vector<uint32_t> ranks(tasks_.size());
    for (uint32_t rank = 0; rank < sorted.size(); ++rank) ranks[sorted[rank]] = rank;
    return ranks;
  }

 private:
  const Step& StepOf(UnitId unit) const {
    return schedule_.steps[schedule_.units[unit].first];
  }
  bool IsCall(UnitId unit) const {
    const Step::Kind kind = StepOf(unit).kind;
    return kind == Step::kCall || kind == Step::kLoad;
  }

  // What the rules say of a task: of its first call.
  const graph::CallRule* RuleOf(uint32_t task) const {
    const UnitId unit = members_[task][0];
    const CallId call = StepOf(unit).call;
    if (!graph_.rules || !IsCall(unit) || !call.valid()) return nullptr;
    const graph::CallRule& rule = graph_.rules->calls[call.index];
    return rule.kind == graph::kNoKind ? nullptr : &rule;
  }
  // What no rule names comes first.
  uint32_t ClassOf(uint32_t task) const {
    const graph::CallRule* rule = RuleOf(task);
    return rule == nullptr ? 0 : 1 + graph_.rules->kinds[rule->kind].rank;
  }
  static int CompareKeys(const graph::CallRule* a, const graph::CallRule* b) {
    static const std::vector<int64_t> kNone;
    const std::vector<int64_t>& left = a == nullptr ? kNone : a->ranking;
    const std::vector<int64_t>& right = b == nullptr ? kNone : b->ranking;
    for (size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
      const int64_t x = i < left.size() ? left[i] : 0, y = i < right.size() ? right[i] : 0;
      if (x != y) return x < y ? -1 : 1;
    }
    return 0;
  }

  void GroupUnits() {
    task_of_.assign(schedule_.units.size(), UINT32_MAX);
    std::map<CallId, UnitId> unit_of;
    if (graph_.rules) {
      for (UnitId unit : schedule_.units.Ids()) {
        if (IsCall(unit)) unit_of[StepOf(unit).call] = unit;
      }
    }
    for (UnitId id : schedule_.units.Ids()) {
      const Unit& unit = schedule_.units[id];
      const bool joins = unit.sender.valid() || (unit.first_part.valid() && unit.first_part != id);
      if (task_of_[id.index] != UINT32_MAX) continue;  // fused to an earlier one
      if (!joins) members_.emplace_back();
      Join(id);
      if (!graph_.rules || !IsCall(id) || !StepOf(id).call.valid()) continue;
      const uint32_t fused = graph_.rules->calls[StepOf(id).call.index].fused;
      if (fused == graph::kNoKind) continue;
      const auto found = unit_of.find(CallId(fused));
      if (found != unit_of.end()) Join(found->second);
    }
  }
  void Join(UnitId unit) {
    members_.back().push_back(unit);
    task_of_[unit.index] = static_cast<uint32_t>(members_.size() - 1);
  }

  void AddLimits() {
    tasks_.limits.resize(schedule_.lanes.size());
    if (!graph_.rules) return;
    tasks_.kinds = static_cast<uint32_t>(graph_.rules->kinds.size());
    for (LaneId lane : schedule_.lanes.Ids()) {
      for (const graph::Limit& limit : graph_.rules->limits) {
        const std::optional<int64_t> bound = limit.bounds[schedule_.lanes[lane].device.index];
        if (!bound) continue;
        tasks_.limits[lane.index].push_back(
            {limit.minuend, limit.subtrahend, limit.at_most, *bound});
      }
    }
  }

  void AddTasks() {
    std::map<std::pair<std::vector<uint32_t>, std::vector<uint32_t>>, uint32_t> queues;
    for (const std::vector<UnitId>& members : members_) {
      std::vector<uint32_t> lanes, kinds;
      uint64_t duration = 0;
      for (UnitId id : members) {
        const Unit& unit = schedule_.units[id];
        lanes.push_back(unit.lane.index);
        uint64_t own = 0;
        for (uint32_t i = 0; i < unit.count; ++i) {
          own += schedule_.steps[StepId(unit.first.index + i)].expected_ps;
        }
        duration = IsCall(id) ? duration + own : own;  // fused calls one after the other
        if (!graph_.rules || !IsCall(id) || !StepOf(id).call.valid()) continue;
        const uint32_t kind = graph_.rules->calls[StepOf(id).call.index].kind;
        if (kind != graph::kNoKind) kinds.push_back(kind);
      }
      std::sort(lanes.begin(), lanes.end());
      lanes.erase(std::unique(lanes.begin(), lanes.end()), lanes.end());
      const auto [it, is_new] =
          queues.try_emplace({lanes, kinds}, static_cast<uint32_t>(tasks_.queues.size()));
      if (is_new) tasks_.queues.push_back({.lanes = lanes, .kinds = kinds});
      tasks_.durations.push_back(duration);
      tasks_.queue.push_back(it->second);
    }
  }

  void AddDependencies() {
    const Dependencies dependencies = FindDependencies(graph_, schedule_);
    std::vector<std::vector<uint32_t>> before(tasks_.size()), after(tasks_.size());
    for (UnitId unit : schedule_.units.Ids()) {
      for (UnitId earlier : dependencies.within[unit.index]) {
        const uint32_t from = task_of_[earlier.index], to = task_of_[unit.index];
        if (from != to) before[to].push_back(from);
      }
    }
    for (uint32_t task = 0; task < tasks_.size(); ++task) {
      std::vector<uint32_t>& list = before[task];
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
      for (uint32_t earlier : list) after[earlier].push_back(task);
      tasks_.predecessors.Add(list);
    }
    for (const std::vector<uint32_t>& list : after) tasks_.successors.Add(list);
  }

  // Without rules a compute lane keeps program order; `order` keeps that of its keys.
  void AddSequences() {
    for (uint32_t task = 0; task < tasks_.size(); ++task) {
      Queue& queue = tasks_.queues[tasks_.queue[task]];
      const Lane& lane = schedule_.lanes[LaneId(queue.lanes[0])];
      const graph::CallRule* rule = RuleOf(task);
      const bool strict = rule != nullptr ? graph_.rules->kinds[rule->kind].ordered
                                          : !graph_.rules && lane.kind == LaneKind::kCompute;
      if (strict) queue.sequence.push_back(task);
    }
    if (!graph_.rules) return;
    for (Queue& queue : tasks_.queues) {
      std::stable_sort(queue.sequence.begin(), queue.sequence.end(), [&](uint32_t a, uint32_t b) {
        return RuleOf(a)->sequence < RuleOf(b)->sequence;
      });
    }
  }

  const graph::Graph& graph_;
  const Schedule& schedule_;
  std::vector<std::vector<UnitId>> members_;  // by task
  std::vector<uint32_t> task_of_;             // by unit
  Tasks tasks_;
};

// The steps, task by task.
void Reorder(Schedule& schedule, const std::vector<std::vector<UnitId>>& members,
             const std::vector<uint32_t>& order) {
  Table<StepId, Step> steps;
  for (uint32_t task : order) {
    for (UnitId id : members[task]) {
      const Unit& unit = schedule.units[id];
      const bool own = !unit.sender.valid() && (!unit.first_part.valid() || unit.first_part == id);
      for (uint32_t i = 0; own && i < unit.count; ++i) {
        steps.Add(std::move(schedule.steps[StepId(unit.first.index + i)]));
      }
    }
  }
  schedule.steps = std::move(steps);
}

}  // namespace

void Arrange(const graph::Graph& graph, Schedule& schedule) {
  if (!schedule.overlap && !graph.rules) return;
  const TaskMaker maker(graph, schedule);
  const Timetable table = ListSchedule(maker.tasks(), maker.Ranks());
  CGRAPH_CHECK(table.order.size() == maker.tasks().size(), "schedule", "an order that cannot go on");
  Reorder(schedule, maker.members(), table.order);
  MakeUnits(graph.rules ? &*graph.rules : nullptr, schedule);
}

}  // namespace cgraph::schedule
