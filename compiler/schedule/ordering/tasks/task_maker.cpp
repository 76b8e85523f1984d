#include "compiler/schedule/ordering/tasks/task_maker.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "compiler/schedule/accesses.h"
#include "compiler/schedule/dependencies.h"
#include "compiler/schedule/memory/layout.h"
#include "compiler/schedule/passes.h"

namespace cgraph::schedule {
namespace {

using graph::CallId;

// Returns whether the unit stands for its task: it is not a receiving end, nor a further part.
bool IsFirst(const ScheduleUnit& unit, UnitId id) {
  return !unit.sender.valid() && (!unit.first_part.valid() || unit.first_part == id);
}

class TaskMaker {
 public:
  TaskMaker(const graph::Graph& graph, const SlotLimits& limits, const Schedule& schedule,
            const cost::Topology* topology)
      : graph_(graph), limits_(limits), schedule_(schedule), topology_(topology) {}

  TaskList Make() {
    GroupUnits();
    FindActions();
    AddTasks();
    AddDependencies();
    AddMemory();
    AddTokens();
    AddRanks();
    AddLimits();
    AddSequences();
    if (graph_.rules && graph_.rules->automatic) AddProgram();
    return std::move(list_);
  }

 private:
  // Returns the call that the unit is, if it is one that rules may speak of.
  std::optional<CallId> CallOf(UnitId unit) const {
    const Step& step = schedule_.FirstStep(unit);
    if (!graph_.rules || step.kind != Step::kCall || !step.call.valid()) return std::nullopt;
    return step.call;
  }
  const graph::CallRule* RuleOf(UnitId unit) const {
    const std::optional<CallId> call = CallOf(unit);
    if (!call) return nullptr;
    const graph::CallRule& rule = graph_.rules->calls[call->index];
    return rule.kind == graph::kNoKind ? nullptr : &rule;
  }

  // Groups a transfer's two units, a collective's parts, a call and those fused to it.
  void GroupUnits() {
    task_of_.assign(schedule_.units.size(), kNone);
    std::map<CallId, UnitId> unit_of;
    for (UnitId id : schedule_.units.Ids()) {
      if (const std::optional<CallId> call = CallOf(id)) unit_of[*call] = id;
    }
    for (UnitId id : schedule_.units.Ids()) {
      if (task_of_[id.index] != kNone) continue;  // fused to an earlier one
      if (IsFirst(schedule_.units[id], id)) list_.members.emplace_back();
      Join(id);
      std::optional<CallId> call = CallOf(id);
      while (call && graph_.rules->calls[call->index].fused.valid()) {
        call = graph_.rules->calls[call->index].fused;
        const auto found = unit_of.find(*call);
        if (found != unit_of.end()) Join(found->second);
      }
    }
  }
  void Join(UnitId unit) {
    list_.members.back().push_back(unit);
    task_of_[unit.index] = static_cast<uint32_t>(list_.members.size() - 1);
  }

  // Finds the tasks of each action, in program order. What a rewrite has added has no rule.
  void FindActions() {
    for (uint32_t task = 0; task < list_.members.size(); ++task) {
      std::set<std::pair<uint32_t, uint32_t>> own;
      for (UnitId id : list_.members[task]) {
        if (const graph::CallRule* rule = RuleOf(id)) own.emplace(rule->action, rule->kind);
      }
      for (const auto& action : own) actions_[action].push_back(task);
    }
  }

  void AddTasks() {
    Tasks& tasks = list_.tasks;
    tasks.lanes = static_cast<uint32_t>(schedule_.lanes.size());
    tasks.kinds = graph_.rules ? static_cast<uint32_t>(graph_.rules->kinds.size()) : 0;
    std::map<std::tuple<std::vector<uint32_t>, std::vector<uint32_t>, bool, bool>, uint32_t> queues;
    for (uint32_t task = 0; task < list_.members.size(); ++task) {
      const std::vector<UnitId>& members = list_.members[task];
      Queue queue;
      uint64_t duration = 0;
      for (UnitId id : members) {
        queue.lanes.push_back(schedule_.units[id].lane.index);
        if (const graph::CallRule* rule = RuleOf(id)) {
          queue.kinds.push_back(rule->kind);
          queue.kinds.insert(queue.kinds.end(), rule->counted.begin(), rule->counted.end());
          // Calls that run without a pause are whole actions each.
          const std::vector<uint32_t>& action = actions_.at({rule->action, rule->kind});
          queue.opens = action.front() == task;
          queue.closes = action.back() == task;
        }
        // Fused calls run one after the other, the ends of a transfer at once.
        const uint64_t ps = schedule_.ExpectedPs(id);
        duration = CallOf(id) ? duration + ps : ps;
      }
      std::sort(queue.lanes.begin(), queue.lanes.end());
      queue.lanes.erase(std::unique(queue.lanes.begin(), queue.lanes.end()), queue.lanes.end());
      const auto [it, is_new] =
          queues.try_emplace({queue.lanes, queue.kinds, queue.opens, queue.closes},
                             static_cast<uint32_t>(tasks.queues.size()));
      if (is_new) tasks.queues.push_back(std::move(queue));
      tasks.durations.push_back(duration);
      tasks.queue.push_back(it->second);
      tasks.actor.push_back(ActorOf(task));
      tasks.opener.push_back(task);
    }
    for (const auto& [action, all] : actions_) {
      const auto least = [&](uint32_t a, uint32_t b) { return tasks.actor[a] < tasks.actor[b]; };
      const uint32_t actor = tasks.actor[*std::min_element(all.begin(), all.end(), least)];
      for (uint32_t task : all) {
        tasks.actor[task] = actor;
        tasks.opener[task] = all.front();
      }
    }
  }
  uint32_t ActorOf(uint32_t task) const {
    const std::optional<CallId> call = CallOf(list_.members[task][0]);
    return call ? graph_.calls[*call].instance.index : kNone;
  }

  void AddDependencies() {
    const Dependencies dependencies = FindDependencies(graph_, schedule_);
    std::vector<std::vector<uint32_t>> before(list_.members.size()), after(before);
    for (UnitId unit : schedule_.units.Ids()) {
      for (UnitId earlier : dependencies.within[unit.index]) {
        const uint32_t from = task_of_[earlier.index], to = task_of_[unit.index];
        if (from != to) before[to].push_back(from);
      }
      for (const Wait& earlier : dependencies.across[unit.index]) {
        if (graph_.inflight == 1) break;
        list_.carried.push_back({task_of_[earlier.unit.index], task_of_[unit.index], earlier.lag});
      }
    }
    AddProgramOrder(before);
    for (uint32_t task = 0; task < before.size(); ++task) {
      std::vector<uint32_t>& earlier = before[task];
      std::sort(earlier.begin(), earlier.end());
      earlier.erase(std::unique(earlier.begin(), earlier.end()), earlier.end());
      for (uint32_t from : earlier) after[from].push_back(task);
      list_.tasks.predecessors.Add(earlier);
    }
    for (const std::vector<uint32_t>& later : after) list_.tasks.successors.Add(later);
  }

  // Keeps the calls of an action in program order, those of all its kinds.
  void AddProgramOrder(std::vector<std::vector<uint32_t>>& before) const {
    std::map<uint32_t, std::set<uint32_t>> all;
    for (const auto& [action, tasks] : actions_) {
      all[action.first].insert(tasks.begin(), tasks.end());
    }
    for (const auto& [action, tasks] : all) {
      for (auto task = tasks.begin(); std::next(task) != tasks.end(); ++task) {
        before[*std::next(task)].push_back(*task);
      }
    }
  }

  // Adds the slot memory of the devices that have a limit.
  void AddMemory() {
    Tasks& tasks = list_.tasks;
    std::vector<std::vector<uint32_t>> takes(tasks.size()), touches(tasks.size());
    if (!limits_.empty()) FindBlocks(takes, touches);
    for (uint32_t task = 0; task < tasks.size(); ++task) {
      tasks.takes.Add(takes[task]);
      tasks.touches.Add(touches[task]);
    }
  }
  void FindBlocks(std::vector<std::vector<uint32_t>>& takes,
                  std::vector<std::vector<uint32_t>>& touches) {
    Tasks& tasks = list_.tasks;
    std::vector<uint32_t> memories(limits_.size(), kNone);  // by device
    for (size_t device = 0; device < limits_.size(); ++device) {
      if (!limits_[device]) continue;
      memories[device] = static_cast<uint32_t>(tasks.memories.size());
      tasks.memories.push_back(*limits_[device]);
    }
    std::vector<std::vector<PrivateBuffer>> own(tasks.size());
    const std::vector<std::vector<Access>> accesses = FindAccesses(graph_, schedule_);
    for (BufferId id : schedule_.buffers.Ids()) {
      const Buffer& buffer = schedule_.buffers[id];
      const uint32_t memory = memories[buffer.device.index];
      const std::vector<Access>& all = accesses[id.index];
      if (memory == kNone || buffer.space != Space::kSlot || all.empty()) continue;
      std::vector<uint32_t> users;
      for (const Access& access : all) users.push_back(task_of_[access.unit.index]);
      const uint32_t maker = users[0];
      std::sort(users.begin(), users.end());
      users.erase(std::unique(users.begin(), users.end()), users.end());
      if (users.size() == 1) {
        own[maker].push_back({memory, all.front().step, all.back().step, Aligned(buffer.bytes)});
        continue;
      }
      // Nothing waits for an output, so the value that it reads stays alive to the end.
      const bool is_given = std::any_of(all.begin(), all.end(), [&](const Access& access) {
        return schedule_.lanes[schedule_.units[access.unit].lane].kind == LaneKind::kOutput;
      });
      if (is_given) {
        tasks.memories[memory] -= Aligned(buffer.bytes);
        continue;
      }
      takes[maker].push_back(static_cast<uint32_t>(tasks.blocks.size()));
      for (uint32_t user : users) {
        touches[user].push_back(static_cast<uint32_t>(tasks.blocks.size()));
      }
      tasks.blocks.push_back({memory, Aligned(buffer.bytes)});
    }
    for (uint32_t task = 0; task < tasks.size(); ++task) {
      AddPrivateBuffers(own[task], takes[task], touches[task]);
    }
  }

  // PrivateBuffer: a buffer that one task alone touches, from one of its steps to another.
  struct PrivateBuffer {
    uint32_t memory;
    StepId first, last;
    int64_t bytes;
  };
  // Adds these buffers as one block, as large as the most of them alive at one step.
  void AddPrivateBuffers(const std::vector<PrivateBuffer>& own, std::vector<uint32_t>& takes,
                         std::vector<uint32_t>& touches) {
    std::map<uint32_t, std::map<StepId, int64_t>> changes;  // by memory
    for (const PrivateBuffer& one : own) {
      changes[one.memory][one.first] += one.bytes;
      changes[one.memory][StepId(one.last.index + 1)] -= one.bytes;
    }
    for (const auto& [memory, steps] : changes) {
      int64_t alive = 0, most = 0;
      for (const auto& [step, change] : steps) most = std::max(most, alive += change);
      takes.push_back(static_cast<uint32_t>(list_.tasks.blocks.size()));
      touches.push_back(takes.back());
      list_.tasks.blocks.push_back({memory, most});
    }
  }

  // Adds tokens: none on a machine without shared resources.
  void AddTokens() {
    Tasks& tasks = list_.tasks;
    if (topology_ == nullptr || !topology_->machine) return;
    const std::vector<cost::Resource>& resources = topology_->machine->resources;
    if (resources.empty()) return;
    for (const cost::Resource& resource : resources) {
      tasks.tokens.push_back(resource.capacity);
    }
    for (const std::vector<UnitId>& members : list_.members) {
      const Step& step = schedule_.FirstStep(members[0]);
      const uint64_t held = std::min(step.held_ps, tasks.durations[tasks.held.size()]);
      tasks.holds.Add(held > 0 ? std::span<const uint32_t>(step.holds)
                               : std::span<const uint32_t>());
      tasks.held.push_back(held);
    }
  }

  // Adds ranks: calls that no rule names come first.
  void AddRanks() {
    std::vector<uint32_t> classes;
    std::vector<std::vector<int64_t>> keys;
    for (const std::vector<UnitId>& members : list_.members) {
      const graph::CallRule* rule = RuleOf(members[0]);
      classes.push_back(rule == nullptr ? 0 : 1 + graph_.rules->kinds[rule->kind].rank);
      keys.push_back(rule == nullptr ? std::vector<int64_t>() : rule->ranking);
    }
    list_.policy.ranks = RankTasks(list_.tasks, classes, keys);
  }

  void AddLimits() {
    list_.policy.limits.resize(schedule_.lanes.size());
    if (!graph_.rules) return;
    for (LaneId lane : schedule_.lanes.Ids()) {
      for (uint32_t rule = 0; rule < graph_.rules->limits.size(); ++rule) {
        const graph::Limit& limit = graph_.rules->limits[rule];
        const std::optional<int64_t> bound = limit.bounds[schedule_.lanes[lane].device.index];
        if (!bound) continue;
        list_.policy.limits[lane.index].push_back(
            {limit.minuend, limit.subtrahend, limit.at_most, *bound, rule});
      }
    }
  }

  // Adds sequences: without rules a compute lane keeps program order; `order` keeps that of its
  // keys, on a lane all its kinds together.
  void AddSequences() {
    if (!graph_.rules) return AddProgramSequences(list_.policy);
    Policy& policy = list_.policy;
    policy.sequence_of.assign(list_.tasks.queues.size(), kNone);
    std::map<std::pair<LaneId, uint32_t>, uint32_t> known;  // by lane and order
    for (uint32_t task = 0; task < list_.tasks.size(); ++task) {
      const graph::CallRule* rule = OrderedRuleOf(task);
      if (rule == nullptr) continue;
      const auto [sequence, is_new] =
          known.try_emplace({LaneOf(task), graph_.rules->kinds[rule->kind].order},
                            static_cast<uint32_t>(policy.sequences.size()));
      if (is_new) policy.sequences.emplace_back();
      policy.sequence_of[list_.tasks.queue[task]] = sequence->second;
      policy.sequences[sequence->second].push_back(task);
    }
    const auto keys = [&](uint32_t task) -> const std::vector<int64_t>& {
      return OrderedRuleOf(task)->sequence;
    };
    for (std::vector<uint32_t>& sequence : policy.sequences) {
      std::stable_sort(sequence.begin(), sequence.end(),
                       [&](uint32_t a, uint32_t b) { return keys(a) < keys(b); });
    }
  }

  void AddProgramSequences(Policy& policy) const {
    policy.sequence_of.assign(list_.tasks.queues.size(), kNone);
    std::map<LaneId, uint32_t> known;
    for (uint32_t task = 0; task < list_.tasks.size(); ++task) {
      if (schedule_.lanes[LaneOf(task)].kind != LaneKind::kCompute) continue;
      const auto [sequence, is_new] =
          known.try_emplace(LaneOf(task), static_cast<uint32_t>(policy.sequences.size()));
      if (is_new) policy.sequences.emplace_back();
      policy.sequence_of[list_.tasks.queue[task]] = sequence->second;
      policy.sequences[sequence->second].push_back(task);
    }
  }

  // Adds the policy of program order, as if there were no rules.
  void AddProgram() {
    list_.program.ranks = RankTasks(list_.tasks, std::vector<uint32_t>(list_.tasks.size()),
                                    std::vector<std::vector<int64_t>>(list_.tasks.size()));
    AddProgramSequences(list_.program);
  }

  LaneId LaneOf(uint32_t task) const { return schedule_.units[list_.members[task][0]].lane; }

  // Returns the rule of the task's first call that an `order` speaks of.
  const graph::CallRule* OrderedRuleOf(uint32_t task) const {
    for (UnitId unit : list_.members[task]) {
      const graph::CallRule* rule = RuleOf(unit);
      if (rule != nullptr && graph_.rules->kinds[rule->kind].order != graph::kNoOrder) return rule;
    }
    return nullptr;
  }

  const graph::Graph& graph_;
  const SlotLimits& limits_;
  const Schedule& schedule_;
  const cost::Topology* const topology_;
  std::vector<uint32_t> task_of_;  // by unit
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>> actions_;  // by number and kind
  TaskList list_;
};

}  // namespace

TaskList MakeTasks(const graph::Graph& graph, const SlotLimits& limits,
                   const Schedule& schedule, const cost::Topology* topology) {
  return TaskMaker(graph, limits, schedule, topology).Make();
}

std::vector<uint32_t> ByStart(const TaskList& list, const Schedule& schedule) {
  std::vector<uint32_t> order(list.tasks.size());
  std::iota(order.begin(), order.end(), 0);
  const auto start = [&](uint32_t task) {
    return schedule.FirstStep(list.members[task][0]).start_ps;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return start(a) < start(b); });
  return order;
}

void SetStarts(const TaskList& list, const Timetable& table, Schedule& schedule) {
  for (uint32_t task = 0; task < list.tasks.size(); ++task) {
    for (UnitId id : list.members[task]) {
      const ScheduleUnit& unit = schedule.units[id];
      for (uint32_t i = 0; i < unit.count; ++i) {
        schedule.steps[StepId(unit.first.index + i)].start_ps = table.starts[task];
      }
    }
  }
}

void Reorder(const graph::Graph& graph, const std::vector<std::vector<UnitId>>& members,
             const Timetable& table, Schedule& schedule) {
  Table<StepId, Step> steps;
  for (uint32_t task : table.order) {
    for (UnitId id : members[task]) {
      const ScheduleUnit& unit = schedule.units[id];
      for (uint32_t i = 0; IsFirst(unit, id) && i < unit.count; ++i) {
        Step& step = schedule.steps[StepId(unit.first.index + i)];
        step.start_ps = table.starts[task];
        step.lag = table.lags.empty() ? 0 : table.lags[task];
        steps.Add(std::move(step));
      }
    }
  }
  schedule.steps = std::move(steps);
  MakeUnits(graph.rules ? &*graph.rules : nullptr, schedule);
}

}  // namespace cgraph::schedule
