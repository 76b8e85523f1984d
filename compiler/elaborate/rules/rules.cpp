#include "compiler/elaborate/steps.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "compiler/base/derived_calls.h"
#include "compiler/base/limits.h"
#include "compiler/elaborate/calls/arguments.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/rules/actions.h"
#include "compiler/elaborate/rules/call_variables.h"
#include "compiler/elaborate/rules/fusions.h"
#include "compiler/elaborate/rules/native_calls.h"
#include "compiler/elaborate/rules/stages.h"
#include "compiler/elaborate/rules/tables.h"
#include "runtime/base/text.h"

namespace cgraph::elaborate {
namespace {

using graph::CallId;
using graph::DeviceId;
using graph::InstanceId;

class RuleMaker {
 public:
  RuleMaker(ElaborationContext& elaboration, const program::Using& use,
            const program::Schedule& schedule, const graph::Graph& graph,
            const std::vector<graph::Call>& removed)
      : elaboration_(elaboration),
        use_(use),
        schedule_(schedule),
        graph_(graph),
        removed_(removed),
        frame_(schedule.name, nullptr, &schedule.locals),
        variables_(elaboration, use, schedule),
        tables_(elaboration, use, schedule) {}

  graph::Rules Run() {
    rules_.name = schedule_.name;
    rules_.range = use_.range;
    Frame outside(schedule_.name, nullptr, &use_.locals);
    const std::vector<Actual> actuals =
        EvaluateArguments(elaboration_, use_.arguments, &schedule_.parameters, frame_, outside);
    if (!BindParameters(elaboration_, schedule_.parameters, actuals, frame_, use_.range)) {
      return std::move(rules_);
    }
    elaboration_.backtrace.calls.push_back({&frame_, use_.range});
    NameKinds();
    NoteCalled();
    Cover();
    for (const program::LimitRule& limit : schedule_.limits) AddLimit(limit);
    if (schedule_.memory) AddMemory(*schedule_.memory);
    for (const program::SortRule& rule : schedule_.rankings) {
      Sort(rule, &graph::CallRule::ranking);
    }
    bool sorted = true;
    for (const program::OrderRule& rule : schedule_.orders) sorted = SortOrder(rule) && sorted;
    GroupActions();
    for (size_t i = 0; i < schedule_.limits.size(); ++i) CheckRemoved(schedule_.limits[i], i);
    for (const program::FuseRule& rule : schedule_.fusions) Fuse(rule);
    for (size_t i = 0; sorted && i < schedule_.orders.size(); ++i) Order(schedule_.orders[i], i);
    tables_.Check();
    WarnOfNativeCode(elaboration_, graph_, rules_);
    CheckStages(elaboration_, use_, schedule_, frame_, graph_, rules_, positions_);
    elaboration_.backtrace.calls.pop_back();
    return std::move(rules_);
  }

 private:
  // Finds the kind of each call.
  void NameKinds() {
    for (program::KindId id : schedule_.kinds.Ids()) {
      const program::Kind& kind = schedule_.kinds[id];
      for (const program::Using::Method& method : use_.methods[id]) {
        kinds_.emplace(std::pair(method.actor, method.name), id.index);
        if (MeansDerived(method, kind.name)) derived_kinds_.insert(id.index);
      }
      rules_.kinds.push_back({.name = kind.name, .rank = kind.rank});
    }
    rules_.calls.resize(graph_.calls.size());
    for (CallId id : graph_.calls.Ids()) {
      rules_.calls[id.index].kind = KindOf(graph_.calls[id]);
    }
  }

  uint32_t KindOf(const graph::Call& call) const {
    const std::optional<uint32_t> derived = DerivedKind(call);
    return derived ? *derived : KindByName(call.instance, call.method);
  }

  uint32_t KindByName(InstanceId instance, const std::string& method) const {
    if (!instance.valid()) return graph::kNoKind;
    const program::ActorId actor = elaboration_.places.instances[instance.index].actor;
    auto found = kinds_.find({actor, method});
    if (found == kinds_.end()) found = kinds_.find({program::ActorId(), method});
    return found == kinds_.end() ? graph::kNoKind : found->second;
  }

  // Returns whether a kind means derived calls of the schedule's `forward`: `with` gives it no
  // other name, and no method has it.
  bool MeansDerived(const program::Using::Method& method, const std::string& kind) const {
    const std::optional<DerivedFrom> of = ParseDerivedName(kind);
    return of && of->method == "forward" && method.name == kind && !method.actor.valid() &&
           std::none_of(elaboration_.program.methods.begin(), elaboration_.program.methods.end(),
                        [&](const program::Method& other) { return other.name == kind; });
  }

  // Returns the kind of a call by the method that it is derived of.
  std::optional<uint32_t> DerivedKind(const graph::Call& call) const {
    if (call.forward_method.empty()) return std::nullopt;
    const uint32_t forward = KindByName(call.instance, call.forward_method);
    if (forward == graph::kNoKind || rules_.kinds[forward].name != "forward") return std::nullopt;
    const std::string name = DerivedName("forward", call.half);
    for (uint32_t kind : derived_kinds_) {
      if (rules_.kinds[kind].name == name) return kind;
    }
    return std::nullopt;
  }

  // Notes the called kinds, for CheckSchedules when all graphs are there.
  void NoteCalled() {
    CalledKinds& called = elaboration_.called_kinds[use_.schedule];
    ++called.graphs;
    if (called.use == nullptr) called.use = &use_;
    called.kinds.resize(schedule_.kinds.size(), false);
    for (CallId id : graph_.calls.Ids()) {
      const uint32_t kind = rules_.calls[id.index].kind;
      if (kind != graph::kNoKind) called.kinds[kind] = true;
      if (graph_.calls[id].instance.valid()) called.methods.insert(graph_.calls[id].method);
    }
    for (const graph::Call& call : removed_) {
      if (KindOf(call) != graph::kNoKind) called.kinds[KindOf(call)] = true;
    }
  }

  // Returns whether a limit holds some call back for ever if no call of the other kind is made.
  bool BlocksAlone(const graph::Limit& limit) const {
    std::vector<std::set<uint32_t>> actions(limit.bounds.size());
    for (CallId id : graph_.calls.Ids()) {
      const graph::CallRule& own = rules_.calls[id.index];
      if (own.kind == limit.minuend) actions[graph_.calls[id].device.index].insert(own.action);
    }
    for (size_t device = 0; device < actions.size(); ++device) {
      const auto count = static_cast<int64_t>(actions[device].size());
      if (limit.bounds[device] && count > *limit.bounds[device]) return limit.at_most;
    }
    return false;
  }

  // Refuses a limit, one of the rules' with this number, that waits for calls which were all
  // removed.
  void CheckRemoved(const program::LimitRule& limit, size_t number) {
    const uint32_t awaited = limit.subtrahend.index;
    const bool left = std::any_of(rules_.calls.begin(), rules_.calls.end(),
                                  [&](const auto& call) { return call.kind == awaited; });
    const auto gone = std::find_if(removed_.begin(), removed_.end(), [&](const auto& call) {
      return KindOf(call) == awaited;
    });
    if (left || gone == removed_.end() || !BlocksAlone(rules_.limits[number])) {
      return;
    }
    Report(elaboration_, Code::kE0801, use_.range,
           fmt::format("`{0}` holds calls back until some of `{1}` have started, and there are "
                       "none: nothing reads what {2} makes, and it has no effect, so that it is "
                       "removed; return what it makes, or let `{1}` change a state",
                       schedule_.name, schedule_.kinds[limit.subtrahend].name,
                       variables_.CallText(*gone)))
        .AddNote(limit.range, "the rule")
        .AddNote(gone->site, "the call");
  }

  void GroupActions() {
    FindActions(graph_, &variables_, rules_);
    for (CallId id : graph_.calls.Ids()) {
      const uint32_t action = rules_.calls[id.index].action;
      if (action == graph::kNoAction) continue;
      if (action >= calls_of_.size()) calls_of_.resize(action + 1);
      calls_of_[action].push_back(id);
    }
  }

  // Finds the devices of the places with such calls, and the position of each. Where no rule names
  // a method (`memory` does not), all places are meant.
  void Cover() {
    std::set<InstanceId> covered;
    for (CallId id : graph_.calls.Ids()) {
      const graph::Call& call = graph_.calls[id];
      const bool named = rules_.calls[id.index].kind != graph::kNoKind;
      if (named || (schedule_.kinds.empty() && call.instance.valid())) {
        covered.insert(call.instance);
      }
    }
    int64_t next = 0;
    std::map<DeviceId, InstanceId> lacking;  // places without the index that counts positions
    for (InstanceId id : covered) {
      const DeviceId device = elaboration_.module.instances[id].device;
      if (positions_.count(device)) continue;
      const std::optional<int64_t> position =
          use_.along.empty() ? std::optional(next++) : Along(id);
      if (position) positions_[device] = *position;
      else lacking.emplace(device, id);
    }
    for (const auto& [device, id] : lacking) {
      if (positions_.emplace(device, 0).second) ReportNoIndex(id);  // nor has another place there
    }
  }

  std::optional<int64_t> Along(InstanceId id) const {
    for (const auto& [name, value] : elaboration_.places.instances[id.index].indices) {
      if (name == use_.along) return value;
    }
    return std::nullopt;
  }
  void ReportNoIndex(InstanceId id) {
    Report(elaboration_, Code::kE0533, use_.range,
           fmt::format("`along: {}`: `{}` is of a place that has no such index, nor has another "
                       "place of the rules on its device",
                       use_.along, elaboration_.module.instances[id].name))
        .AddNote(elaboration_.module.instances[id].range, "the place");
  }

  // Returns the bound on each covered device.
  std::vector<std::optional<int64_t>> PerDevice(program::ExprId expr, const char* what) {
    std::vector<std::optional<int64_t>> values(elaboration_.module.devices.size());
    const std::string& name = schedule_.locals[schedule_.index].name;
    for (const auto& [device, position] : positions_) {
      frame_.locals[schedule_.index.index] = Value(position);
      elaboration_.backtrace.loops.push_back({&name, &frame_, schedule_.index});
      values[device.index] = EvaluateInt(elaboration_, expr, frame_, what);
      elaboration_.backtrace.loops.pop_back();
    }
    return values;
  }

  void AddLimit(const program::LimitRule& limit) {
    graph::Limit made{limit.minuend.index, limit.subtrahend.index, limit.at_most,
                      PerDevice(limit.bound, "a limit"), limit.range};
    DropWithoutDerived(made);
    if (limit.condition.valid()) {
      made.minuend = Part(limit, limit.minuend);
      made.subtrahend = Part(limit, limit.subtrahend);
    }
    rules_.limits.push_back(std::move(made));
  }

  // Drops a limit on derived calls where a device lacks those of one of its kinds: a frozen stage
  // has no gradients of weights that could ever catch up.
  void DropWithoutDerived(graph::Limit& limit) {
    if (!derived_kinds_.count(limit.minuend) && !derived_kinds_.count(limit.subtrahend)) return;
    for (const auto& [device, position] : positions_) {
      bool has[2] = {};
      for (CallId id : graph_.calls.Ids()) {
        if (graph_.calls[id].device != device) continue;
        has[0] |= rules_.calls[id.index].kind == limit.minuend;
        has[1] |= rules_.calls[id.index].kind == limit.subtrahend;
      }
      if (!has[0] || !has[1]) limit.bounds[device.index].reset();
    }
  }

  // Makes a kind of its own of those calls of a kind that meet the limit's condition.
  uint32_t Part(const program::LimitRule& limit, program::KindId kind) {
    const auto part = static_cast<uint32_t>(rules_.kinds.size());
    rules_.kinds.push_back({.name = schedule_.kinds[kind].name, .partial = true});
    for (CallId id : graph_.calls.Ids()) {
      graph::CallRule& own = rules_.calls[id.index];
      if (own.kind != kind.index) continue;
      if (!BindVariables(graph_.calls[id], limit.variables, limit.range)) break;
      const std::optional<bool> counts = EvaluateCondition(elaboration_, limit.condition, frame_);
      if (!counts) break;
      if (*counts) own.counted.push_back(part);
    }
    return part;
  }

  // Binds `index` and the variables for a call.
  bool BindVariables(const graph::Call& call, const std::vector<program::LocalId>& variables,
                     Range rule) {
    frame_.locals[schedule_.index.index] = Value(positions_[call.device]);
    for (program::LocalId variable : variables) {
      const std::optional<int64_t> value = variables_.ValueOf(call, variable, rule);
      if (!value) return false;
      frame_.locals[variable.index] = Value(*value);
    }
    return true;
  }

  void AddMemory(const program::MemoryRule& rule) {
    rules_.memory = PerDevice(rule.bytes, "`memory`");
    rules_.memory_range = rule.range;
    for (const std::optional<int64_t>& bytes : rules_.memory) {
      if (!bytes || *bytes > 0) continue;
      Report(elaboration_, Code::kE0536, rule.range,
             fmt::format("a device has at least one byte, not {}", *bytes));
      return;
    }
  }

  // Sets the keys of all calls of one kind. False: an error was reported.
  bool Sort(const program::SortRule& rule, std::vector<int64_t> graph::CallRule::*keys) {
    for (CallId id : graph_.calls.Ids()) {
      graph::CallRule& own = rules_.calls[id.index];
      const graph::Call& call = graph_.calls[id];
      if (own.kind != rule.kind.index) continue;
      if (!BindVariables(call, rule.variables, rule.range)) return false;
      for (program::ExprId key : rule.keys) {
        const std::optional<int64_t> value = EvaluateInt(elaboration_, key, frame_, "a key");
        if (!value) return false;
        tables_.Note(rule, key, frame_);
        (own.*keys).push_back(*value);
      }
    }
    return true;
  }

  // Sets the keys of the kinds of an order. False: an error was reported.
  bool SortOrder(const program::OrderRule& rule) {
    for (const program::SortRule& sort : rule.sorts) {
      rules_.kinds[sort.kind.index].order = static_cast<uint32_t>(rules_.orders.size());
      if (!Sort(sort, &graph::CallRule::sequence)) return false;
    }
    rules_.orders.push_back(rule.range);
    return true;
  }

  // Orders actions. Those of several kinds that have one position in the order of a device run as
  // one, in program order; two of one kind may not have one position.
  void Order(const program::OrderRule& rule, size_t order) {
    std::map<std::pair<DeviceId, std::vector<int64_t>>, std::vector<CallId>> places;
    for (CallId id : graph_.calls.Ids()) {
      const graph::CallRule& own = rules_.calls[id.index];
      if (own.kind == graph::kNoKind || rules_.kinds[own.kind].order != order) continue;
      std::vector<CallId>& here = places[{graph_.calls[id].device, own.sequence}];
      for (CallId other : here) {
        const graph::CallRule& first = rules_.calls[other.index];
        if (first.kind == own.kind && first.action != own.action) return ReportTie(rule, other, id);
      }
      here.push_back(id);
    }
    for (const auto& [place, calls] : places) {
      for (size_t i = 1; i < calls.size(); ++i) {
        if (rules_.calls[calls[i - 1].index].kind == rules_.calls[calls[i].index].kind) continue;
        if (!RunAsOne(rule, calls[i - 1], calls[i])) return;
      }
    }
  }

  void ReportTie(const program::OrderRule& rule, CallId first, CallId second) {
    const graph::CallRule& own = rules_.calls[second.index];
    const graph::Call& call = graph_.calls[second];
    Report(elaboration_, Code::kE0534, rule.range,
           fmt::format("on {} two calls of `{}` have the same keys ({}): {} and {}",
                       DeviceName(elaboration_.module.devices[call.device]),
                       rules_.kinds[own.kind].name, fmt::join(own.sequence, ", "),
                       variables_.CallText(graph_.calls[first]), variables_.CallText(call)))
        .AddNote(call.site, "the second call");
  }

  // Returns false where one of them was fused with another call already, which was reported.
  bool RunAsOne(const program::OrderRule& rule, CallId first, CallId second) {
    if (rules_.calls[first.index].fused == second || Join(first, second)) return true;
    Report(elaboration_, Code::kE0534, rule.range,
           fmt::format("on {} {} and {} have the same keys ({}), by which they would run as one, "
                       "and `fuse` joins one of them to another call",
                       DeviceName(elaboration_.module.devices[graph_.calls[first].device]),
                       variables_.CallText(graph_.calls[first]),
                       variables_.CallText(graph_.calls[second]),
                       fmt::join(rules_.calls[first.index].sequence, ", ")))
        .AddNote(graph_.calls[second].site, "the second call");
    return false;
  }

  // Lets the actions of two calls run as one: two of one call each without a pause; others become
  // one action of two kinds. False: one of them runs as one with another already.
  bool Join(CallId first, CallId second) {
    graph::CallRule& one = rules_.calls[first.index];
    const graph::CallRule& other = rules_.calls[second.index];
    if (one.action == other.action) return true;
    std::vector<CallId>& calls = calls_of_[one.action];
    std::vector<CallId>& others = calls_of_[other.action];
    if (calls.size() == 1 && others.size() == 1) {
      if (one.fused.valid() || !follows_.insert(second).second) return false;
      one.fused = second;
      return true;
    }
    const auto has_kind = [&](CallId id) { return rules_.calls[id.index].kind == other.kind; };
    if (std::any_of(calls.begin(), calls.end(), has_kind)) return false;
    for (CallId id : others) rules_.calls[id.index].action = one.action;
    calls.insert(calls.end(), others.begin(), others.end());
    others.clear();
    return true;
  }

  // Joins the calls that a rule pairs.
  void Fuse(const program::FuseRule& rule) {
    const auto gone = std::find_if(removed_.begin(), removed_.end(), [&](const graph::Call& call) {
      return KindOf(call) == rule.first.index;
    });
    const auto pairs = PairCalls(elaboration_, variables_, schedule_, rule, graph_, rules_,
                                 gone == removed_.end() ? nullptr : &*gone);
    if (!pairs) return;
    bool warned = false;
    for (const auto& [first, second] : *pairs) {
      if (!Join(first, second) && !std::exchange(warned, true)) WarnOfApart(rule, first, second);
    }
    KeepApart(rule);
  }

  void WarnOfApart(const program::FuseRule& rule, CallId first, CallId second) {
    Report(elaboration_, Code::kW0513, rule.range,
           fmt::format("{} and {} are not fused: the action of the first has calls of `{}` "
                       "already, of another action, and an action becomes one with one other; let "
                       "the same loops count the micro-batches of both methods",
                       variables_.CallText(graph_.calls[first]),
                       variables_.CallText(graph_.calls[second]),
                       schedule_.kinds[rule.second].name))
        .AddNote(graph_.calls[second].site, "the second call");
  }

  // Lets no joined action of several calls begin before another of its kinds has ended, where each
  // has calls of both.
  void KeepApart(const program::FuseRule& rule) {
    graph::Limit limit{rule.first.index, rule.second.index, /*at_most=*/true, {}, rule.range};
    limit.bounds.resize(elaboration_.module.devices.size());
    std::set<DeviceId> without;  // a call of the second kind
    for (const std::vector<CallId>& calls : calls_of_) {
      bool has[2] = {};
      for (CallId id : calls) {
        has[0] |= rules_.calls[id.index].kind == rule.first.index;
        has[1] |= rules_.calls[id.index].kind == rule.second.index;
      }
      if (has[0] && has[1]) limit.bounds[graph_.calls[calls[0]].device.index] = 1;
      else if (has[0] && !rules_.calls[calls[0].index].fused.valid()) {
        without.insert(graph_.calls[calls[0]].device);
      }
    }
    for (DeviceId device : without) limit.bounds[device.index].reset();
    const bool holds = std::any_of(limit.bounds.begin(), limit.bounds.end(),
                                   [](const auto& bound) { return bound.has_value(); });
    if (holds) rules_.limits.push_back(std::move(limit));
  }

  ElaborationContext& elaboration_;
  const program::Using& use_;
  const program::Schedule& schedule_;
  const graph::Graph& graph_;
  const std::vector<graph::Call>& removed_;
  Frame frame_;
  CallVariables variables_;
  std::set<uint32_t> derived_kinds_;       // that mean calls which `grad` has derived
  TableUses tables_;
  std::map<std::pair<program::ActorId, std::string>, uint32_t> kinds_;  // by method
  std::map<DeviceId, int64_t> positions_;  // of covered devices
  std::set<CallId> follows_;               // calls that run right after another, as one with it
  std::vector<std::vector<CallId>> calls_of_;  // by action
  graph::Rules rules_;
};

// Of calls that `grad` goes through and those that it derives there are three kinds: they are a
// pipeline, of stages of several methods perhaps. Others have a kind for each method.
std::string KindName(const ElaborationContext& elaboration, const graph::Call& call) {
  if (!call.forward_method.empty()) return DerivedName("forward", call.half);
  if (call.differentiated) return "forward";
  return elaboration.module.instances[call.instance].actor + "." + call.method;
}

// Makes the kinds of all calls of places. Beside a pipeline what a place does once, as an update,
// is of none: it waits for all micro-batches.
graph::Rules Automatic(ElaborationContext& elaboration, const program::Using& use,
                       const graph::Graph& graph) {
  graph::Rules rules;
  rules.name = use.reversed ? "reversed" : "auto";
  rules.automatic = !use.reversed;
  rules.range = use.range;
  rules.calls.resize(graph.calls.size());
  std::map<std::pair<InstanceId, std::string>, size_t> counts;
  bool derived = false;
  for (const graph::Call& call : graph.calls) {
    ++counts[{call.instance, call.method}];
    derived |= !call.forward_method.empty();
  }
  std::map<std::string, uint32_t> kinds;
  for (CallId id : graph.calls.Ids()) {
    const graph::Call& call = graph.calls[id];
    if (!call.instance.valid()) continue;
    const bool is_of_pipeline = !call.forward_method.empty() || call.differentiated;
    if (derived && !is_of_pipeline && counts.at({call.instance, call.method}) == 1) continue;
    const std::string name = KindName(elaboration, call);
    if (kinds.size() == kMaxKinds && !kinds.count(name)) continue;
    const auto [known, added] = kinds.emplace(name, static_cast<uint32_t>(kinds.size()));
    if (added) rules.kinds.push_back({.name = name});
    rules.calls[id.index].kind = known->second;
  }
  if (derived && !use.reversed) {
    FindActions(graph, nullptr, rules);
  } else {  // it need not be a pipeline
    for (CallId id : graph.calls.Ids()) {
      graph::CallRule& own = rules.calls[id.index];
      if (own.kind == graph::kNoKind) continue;
      own.action = id.index;
      if (use.reversed) own.ranking = {-int64_t{id.index}};
    }
  }
  if (!use.reversed) WarnOfNativeCode(elaboration, graph, rules);
  return rules;
}

}  // namespace

graph::Rules ElaborateRules(ElaborationContext& elaboration, const program::Using& use,
                            const graph::Graph& graph, const std::vector<graph::Call>& removed) {
  if (!use.schedule.valid()) return Automatic(elaboration, use, graph);
  return RuleMaker(elaboration, use, elaboration.program.schedules[use.schedule], graph, removed)
      .Run();
}

void CheckSchedules(ElaborationContext& elaboration) {
  for (const auto& [id, called] : elaboration.called_kinds) {
    const auto users = std::count_if(
        elaboration.program.graphs.begin(), elaboration.program.graphs.end(),
        [id = id](const program::Graph& graph) { return graph.use && graph.use->schedule == id; });
    if (users != called.graphs) continue;  // those that are not elaborated may call it
    const program::Schedule& schedule = elaboration.program.schedules[id];
    const std::vector<std::string> methods(called.methods.begin(), called.methods.end());
    for (program::KindId kind : schedule.kinds.Ids()) {
      if (called.kinds[kind.index]) continue;
      const program::Using::Method& method = called.use->methods[kind].front();
      const std::string near = DidYouMean(method.name, methods);
      Report(elaboration, Code::kW0502, method.range,
             fmt::format("`{}` has rules about `{}`, which no graph that uses it calls{}",
                         schedule.name, method.name,
                         near.empty()
                             ? fmt::format("; `with ({} = [NAME, ...])` says which are meant",
                                           schedule.kinds[kind].name)
                             : fmt::format(" (did you mean `{}`?)", near)))
          .AddNote(schedule.kinds[kind].range, "the rule");
    }
  }
}

}  // namespace cgraph::elaborate
