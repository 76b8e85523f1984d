#include "compiler/schedule/ordering/list/list_schedule.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "compiler/graph/graph.h"
#include "compiler/graph/names.h"
#include "compiler/schedule/ordering/list/start_counts.h"

namespace cgraph::schedule {
namespace {

constexpr size_t kShownCalls = 3;

class Blocked {
 public:
  Blocked(const graph::Module& module, const graph::Graph& graph, const Schedule& schedule,
          const TaskList& list, const Timetable& table)
      : module_(module),
        graph_(graph),
        schedule_(schedule),
        list_(list),
        done_(list.tasks.size(), false),
        counts_(list.tasks) {
    for (uint32_t task : table.order) {
      done_[task] = true;
      counts_.Start(QueueOf(task));
    }
  }

  void Report(Diagnostics& diagnostics) const {
    const size_t waiting = std::count(done_.begin(), done_.end(), false);
    Diagnostic& diagnostic = diagnostics.Report(
        Code::kE0801, graph_.rules->range,
        fmt::format("`{}` blocks graph `{}`: {} of its {} operations can never start",
                    graph_.rules->name, graph_.name, waiting, done_.size()));
    size_t shown = 0;
    for (uint32_t task = 0; task < done_.size() && shown < kShownCalls; ++task) {
      if (done_[task] || !IsReady(task)) continue;
      Explain(task, diagnostic);
      ++shown;
    }
    if (shown > 0) return;
    for (uint32_t task = 0; task < done_.size(); ++task) {
      if (done_[task] || list_.members[task].size() < 2) continue;
      diagnostic.AddNote(SiteOf(task), fmt::format("{} is fused with another call, which waits for "
                                                   "what is made of its result elsewhere",
                                                   CallText(task)));
      return;
    }
  }

 private:
  const Queue& QueueOf(uint32_t task) const { return list_.tasks.queues[list_.tasks.queue[task]]; }

  bool IsReady(uint32_t task) const {
    const auto before = list_.tasks.predecessors[task];
    return std::all_of(before.begin(), before.end(), [&](uint32_t one) { return done_[one]; });
  }

  graph::CallId CallIdOf(UnitId unit) const {
    return schedule_.steps[schedule_.units[unit].first].call;
  }
  // Returns all calls of a task; fused ones are several.
  std::set<graph::CallId> CallsOf(uint32_t task) const {
    std::set<graph::CallId> calls;
    for (UnitId unit : list_.members[task]) calls.insert(CallIdOf(unit));
    return calls;
  }
  const graph::Call* CallOf(uint32_t task) const {
    const graph::CallId call = CallIdOf(list_.members[task][0]);
    return call.valid() ? &graph_.calls[call] : nullptr;
  }
  Range SiteOf(uint32_t task) const {
    const graph::Call* call = CallOf(task);
    return call == nullptr ? Range() : call->site;
  }
  std::string CallText(uint32_t task) const {
    const graph::Call* call = CallOf(task);
    if (call == nullptr) return "a transfer";
    return cgraph::CallText(module_, *call) + " on " + DeviceName(module_.devices[call->device]);
  }

  void Explain(uint32_t task, Diagnostic& diagnostic) const {
    if (!BySequence(task, diagnostic)) ByLimit(task, diagnostic);
  }

  // Reports a task that is not the first of its sequence that has not started.
  bool BySequence(uint32_t task, Diagnostic& diagnostic) const {
    const Policy& policy = list_.policy;
    const Queue& queue = QueueOf(task);
    const uint32_t index =
        policy.sequence_of.empty() ? kNone : policy.sequence_of[list_.tasks.queue[task]];
    if (index == kNone || queue.kinds.empty()) return false;
    const std::vector<uint32_t>& sequence = policy.sequences[index];
    const auto next = std::find_if(sequence.begin(), sequence.end(),
                                   [&](uint32_t other) { return !done_[other]; });
    if (next == sequence.end() || *next == task) return false;
    Range rule = graph_.rules->range;
    for (uint32_t kind : queue.kinds) {
      const uint32_t order = graph_.rules->kinds[kind].order;
      if (order != graph::kNoOrder) rule = graph_.rules->orders[order];
    }
    diagnostic.AddNote(rule, fmt::format("{} is held back until {} has started, which {}",
                                         CallText(task), CallText(*next), WhyNot(*next)));
    return true;
  }

  // Says why a task has not started: what it waits for, the first call on the way to the task that
  // is held back; and whether that is because of a state, whose calls keep program order under
  // every schedule.
  std::string WhyNot(uint32_t task) const {
    uint32_t awaited = task;
    do {
      const auto before = list_.tasks.predecessors[awaited];
      const auto next =
          std::find_if(before.begin(), before.end(), [&](uint32_t one) { return !done_[one]; });
      if (next == before.end()) return "is held back, too";
      awaited = *next;
    } while (CallOf(awaited) == nullptr);
    const graph::State* state = SharedState(task, awaited);
    return state == nullptr ? "waits for " + CallText(awaited) : WaitText(awaited, *state);
  }
  std::string WaitText(uint32_t awaited, const graph::State& state) const {
    return fmt::format(
        "waits for {}: both touch `{}.{}`, and calls that change a state keep "
        "program order",
        CallText(awaited), module_.instances[state.instance].name, state.name);
  }

  // Says, of a limit that holds tasks back, which one would loosen it, where a state keeps that
  // from starting; empty: none does.
  std::string Loosened(const LaneLimit& limit, const Queue& queue) const {
    for (uint32_t task = 0; task < done_.size() && limit.at_most; ++task) {
      const Queue& own = QueueOf(task);
      const bool loosens = !done_[task] && own.lanes[0] == queue.lanes[0] &&
                           std::count(own.kinds.begin(), own.kinds.end(), limit.subtrahend) != 0;
      if (!loosens) continue;
      for (uint32_t before : list_.tasks.predecessors[task]) {
        if (done_[before] || CallOf(before) == nullptr) continue;
        const graph::State* state = SharedState(task, before);
        if (state == nullptr) continue;
        return fmt::format("; {}, which would lower it, {}", CallText(task),
                           WaitText(before, *state));
      }
    }
    return "";
  }

  // Returns a state that one of two tasks writes and the other one touches.
  const graph::State* SharedState(uint32_t a, uint32_t b) const {
    std::set<graph::StateId> touched[2], written[2];
    const std::set<graph::CallId> calls[2] = {CallsOf(a), CallsOf(b)};
    for (const graph::Op& op : graph_.ops) {
      const int side = calls[0].contains(op.call) ? 0 : 1;
      if (!calls[side].contains(op.call)) continue;
      for (const graph::Use& operand : op.operands) AddState(operand.value, touched[side]);
      for (graph::ValueId result : op.results) {
        AddState(result, touched[side]);
        AddState(result, written[side]);
      }
    }
    for (int side : {0, 1}) {
      for (graph::StateId state : written[side]) {
        if (touched[1 - side].contains(state)) return &module_.states[state];
      }
    }
    return nullptr;
  }
  void AddState(graph::ValueId id, std::set<graph::StateId>& states) const {
    const graph::Value& value = graph_.values[id];
    if (value.storage == graph::Value::kState) states.insert(value.state);
  }

  void ByLimit(uint32_t task, Diagnostic& diagnostic) const {
    const Queue& queue = QueueOf(task);
    if (queue.kinds.empty()) return;
    const std::vector<LaneLimit>& limits = list_.policy.limits[queue.lanes[0]];
    const auto limit = std::find_if(limits.begin(), limits.end(), [&](const LaneLimit& one) {
      return counts_.HoldsBack(one, queue);
    });
    if (limit == limits.end()) return;
    diagnostic.AddNote(
        graph_.rules->limits[limit->rule].range,
        fmt::format("{} is held back: it would make {} - {} here {}, and that is at {} {}{}",
                    CallText(task), graph_.rules->kinds[limit->minuend].name,
                    graph_.rules->kinds[limit->subtrahend].name,
                    counts_.DifferenceWith(queue, *limit), limit->at_most ? "most" : "least",
                    limit->bound, Loosened(*limit, queue)));
  }

  const graph::Module& module_;
  const graph::Graph& graph_;
  const Schedule& schedule_;
  const TaskList& list_;
  std::vector<bool> done_;  // by task
  StartCounts counts_;
};

}  // namespace

void ReportBlocked(const graph::Module& module, const graph::Graph& graph, const Schedule& schedule,
                   const TaskList& list, const Timetable& table, Diagnostics& diagnostics) {
  Blocked(module, graph, schedule, list, table).Report(diagnostics);
}

}  // namespace cgraph::schedule
