#include "compiler/pipeline/order.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "compiler/pipeline/stage_links.h"

namespace cgraph::pipeline {
namespace {

using graph::CallId;
using graph::DeviceId;
using graph::InstanceId;
using schedule::Step;
using schedule::StepId;
using Kind = ActionKind;

std::optional<Kind> KindOf(const std::string& name) {
  if (name == "forward") return Kind::kForward;
  if (name == "backward") return Kind::kBackward;
  if (name == "backward_input") return Kind::kBackwardInput;
  if (name == "backward_weight") return Kind::kBackwardWeight;
  return std::nullopt;
}

// PipelineCalls: which of a graph's calls are actions of a pipeline, and which rank each device is.
class PipelineCalls {
 public:
  PipelineCalls(const graph::Module& module, const graph::Graph& graph)
      : module_(module), graph_(graph), actions_(graph.calls.size()) {}

  // Finds the pipelines of a graph, which stand side by side: between places of one go results of
  // forwards.
  static Result<std::vector<PipelineCalls>> Find(const graph::Module& module,
                                                 const graph::Graph& graph) {
    PipelineCalls all(module, graph);
    all.FindKinds();
    if (all.stages_.empty()) {
      return all.Wrong(
          "it makes no calls named `forward`; the methods of a pipeline are `forward` and "
          "`backward`, or `backward_input` and `backward_weight`, and `with (forward = F)` says "
          "what they are called");
    }
    const StageLinks links = LinksOf(graph, all.actions_);
    std::vector<PipelineCalls> pipelines;
    for (const std::vector<uint32_t>& joined : Joined(links, all.stage_count_)) {
      for (const std::vector<uint32_t>& stages : Slices(links, joined)) {
        PipelineCalls& one = pipelines.emplace_back(all);
        CGRAPH_RETURN_IF_ERROR(one.Keep(stages, links));
        CGRAPH_RETURN_IF_ERROR(one.FindMicrobatches());
      }
    }
    return pipelines;
  }

  const std::optional<Action>& ActionOf(CallId call) const { return actions_[call.index]; }
  // The number of a call's action, by which calls are one; kNoAction: it is one by itself.
  uint32_t NumberOf(CallId call) const {
    return graph_.rules ? graph_.rules->calls[call.index].action : graph::kNoAction;
  }
  size_t ranks() const { return ranks_.size(); }
  std::optional<uint32_t> RankOf(DeviceId device) const {
    const auto rank = ranks_.find(device);
    return rank == ranks_.end() ? std::nullopt : std::optional(rank->second);
  }
  Status Wrong(const std::string& message) const {
    return {StatusCode::kInvalid,
            fmt::format("graph `{}` is no pipeline as a CSV has it: {}", graph_.name, message)};
  }
  const std::string& FirstPlace() const { return module_.instances[PlaceOf(0)].name; }
  std::string CallText(CallId id) const {
    const graph::Call& call = graph_.calls[id];
    return "`" + module_.instances[call.instance].name + "." + call.method + "`";
  }

 private:
  std::optional<Kind> KindOfCall(CallId id) const {
    const graph::Call& call = graph_.calls[id];
    if (!call.instance.valid()) return std::nullopt;
    const uint32_t kind = graph_.rules ? graph_.rules->calls[id.index].kind : graph::kNoKind;
    if (kind != graph::kNoKind) {
      if (const auto named = KindOf(graph_.rules->kinds[kind].name)) return named;
    }
    return KindOf(call.method);
  }

  // Finds stages and their devices; ranks and micro-batches come later. The places of one action of
  // a forward are one stage.
  void FindKinds() {
    std::map<uint32_t, uint32_t> stage_of;  // by action
    for (CallId id : graph_.calls.Ids()) {
      const std::optional<Kind> kind = KindOfCall(id);
      if (!kind) continue;
      const graph::Call& call = graph_.calls[id];
      homes_.emplace(call.instance, call.device);
      if (*kind != Kind::kForward) continue;
      const auto known = stages_.find(call.instance);
      uint32_t stage = known == stages_.end() ? stage_count_ : known->second;
      const uint32_t action = NumberOf(id);
      if (action != graph::kNoAction) stage = stage_of.emplace(action, stage).first->second;
      if (known == stages_.end()) stages_.emplace(call.instance, stage);
      if (stage == stage_count_) ++stage_count_;
    }
    for (CallId id : graph_.calls.Ids()) {
      const std::optional<Kind> kind = KindOfCall(id);
      if (!kind) continue;
      const auto stage = stages_.find(graph_.calls[id].instance);
      if (stage == stages_.end()) continue;  // without a forward it is of no pipeline
      actions_[id.index] = Action{stage->second, *kind, 0};
    }
  }

  // The pipelines of joined stages. Stages of which each uses what the other makes are one on
  // several devices, between which collectives go: each pipeline has one of them.
  static std::vector<std::vector<uint32_t>> Slices(const StageLinks& links,
                                                   const std::vector<uint32_t>& joined) {
    std::vector<std::vector<uint32_t>> groups;
    for (uint32_t stage : joined) {
      const auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& others) {
        return links.count({others[0], stage}) && links.count({stage, others[0]});
      });
      if (group != groups.end()) group->push_back(stage);
      else groups.push_back({stage});
    }
    size_t widest = 0;
    for (const auto& group : groups) widest = std::max(widest, group.size());
    std::vector<std::vector<uint32_t>> slices(widest);
    for (size_t i = 0; i < widest; ++i) {
      for (const auto& group : groups) slices[i].push_back(group[std::min(i, group.size() - 1)]);
    }
    return slices;
  }

  InstanceId PlaceOf(uint32_t stage) const {
    const auto found = std::find_if(stages_.begin(), stages_.end(),
                                    [&](const auto& one) { return one.second == stage; });
    return found->first;
  }

  // Leaves out all other stages, and numbers these from 0; numbers the ranks. Each stage but the
  // first must have something of the one before.
  Status Keep(const std::vector<uint32_t>& kept, const StageLinks& links) {
    for (size_t i = 1; i < kept.size(); ++i) {
      if (links.count({kept[i - 1], kept[i]})) continue;
      return Wrong(fmt::format("`{}.forward` uses nothing of what `{}.forward` makes, which comes "
                               "before it; a stage is one place, and uses the stage before",
                               module_.instances[PlaceOf(kept[i])].name,
                               module_.instances[PlaceOf(kept[i - 1])].name));
    }
    std::map<uint32_t, uint32_t> numbers;
    for (uint32_t stage : kept) numbers.emplace(stage, static_cast<uint32_t>(numbers.size()));
    for (std::optional<Action>& action : actions_) {
      if (!action) continue;
      const auto number = numbers.find(action->stage);
      if (number == numbers.end()) action.reset();
      else action->stage = number->second;
    }
    std::map<InstanceId, uint32_t> stages;
    for (const auto& [instance, stage] : stages_) {
      const auto number = numbers.find(stage);
      if (number == numbers.end()) continue;
      stages.emplace(instance, number->second);
      ranks_.emplace(homes_.at(instance), static_cast<uint32_t>(ranks_.size()));
    }
    stages_ = std::move(stages);
    return Status::Ok();
  }

  static std::optional<int64_t> VariableOf(const graph::Call& call, const std::string& name) {
    for (size_t i = call.indices.size(); i-- > 0;) {
      if (call.index_names[i] == name) return call.indices[i];
    }
    return std::nullopt;
  }
  bool AllHave(const std::string& name) const {
    for (CallId id : graph_.calls.Ids()) {
      if (actions_[id.index] && !VariableOf(graph_.calls[id], name)) return false;
    }
    return true;
  }

  bool Varies(const std::string& name) const {
    std::set<int64_t> values;
    for (CallId id : graph_.calls.Ids()) {
      if (actions_[id.index]) values.insert(*VariableOf(graph_.calls[id], name));
    }
    return values.size() > 1;
  }

  // Numbers micro-batches from 0, as what counts them goes up: what the rules say, or a variable.
  Status FindMicrobatches() {
    std::vector<CallId> calls;
    for (CallId id : graph_.calls.Ids()) {
      if (actions_[id.index]) calls.push_back(id);
    }
    std::map<CallId, std::vector<int64_t>> counts;
    for (CallId id : calls) {
      if (graph_.rules) counts[id] = graph_.rules->calls[id.index].microbatch;
    }
    if (!graph_.rules || std::any_of(counts.begin(), counts.end(),
                                     [](const auto& count) { return count.second.empty(); })) {
      const Result<std::string> name = MicrobatchVariable(calls[0]);
      if (!name.ok()) return name.status();
      for (CallId id : calls) counts[id] = {*VariableOf(graph_.calls[id], *name)};
    }
    std::map<std::vector<int64_t>, uint32_t> numbers;
    for (const auto& [id, count] : counts) numbers[count] = 0;
    uint32_t next = 0;
    for (auto& [count, number] : numbers) number = next++;
    for (CallId id : calls) actions_[id.index]->microbatch = numbers[counts[id]];
    return Status::Ok();
  }

  // The variable `mb`, else the first that all actions have and that is not the same in all.
  Result<std::string> MicrobatchVariable(CallId one) const {
    std::vector<std::string> names = graph_.calls[one].index_names;
    names.insert(names.begin(), "mb");
    std::erase_if(names, [&](const std::string& word) { return !AllHave(word); });
    if (names.empty()) {
      return Wrong("its forwards and backwards stand in no loop that all of them have, whose "
                   "variable would be the micro-batch");
    }
    // A loop over replicas counts nothing in one of them.
    const auto name = std::find_if(names.begin(), names.end(),
                                   [&](const std::string& word) { return Varies(word); });
    return name == names.end() ? names[0] : *name;
  }

  const graph::Module& module_;
  const graph::Graph& graph_;
  std::vector<std::optional<Action>> actions_;  // by call
  std::map<InstanceId, uint32_t> stages_;
  uint32_t stage_count_ = 0;
  std::map<InstanceId, DeviceId> homes_;
  std::map<DeviceId, uint32_t> ranks_;
};

// Makes the order by walking through a schedule's steps, which stand in one order for all lanes.
class OrderMaker {
 public:
  OrderMaker(const graph::Graph& graph, const schedule::Schedule& schedule,
             const PipelineCalls& pipeline, bool transfers)
      : graph_(graph), schedule_(schedule), pipeline_(pipeline), transfers_(transfers) {}

  Result<Order> Run() {
    order_.ranks.resize(pipeline_.ranks());
    for (CallId call : graph_.calls.Ids()) {
      const uint32_t number = pipeline_.NumberOf(call);
      if (number == graph::kNoAction || !pipeline_.ActionOf(call)) continue;
      std::vector<Action>& actions = unplaced_[number];
      const Action& own = *pipeline_.ActionOf(call);
      if (std::find(actions.begin(), actions.end(), own) == actions.end()) actions.push_back(own);
    }
    if (transfers_) CGRAPH_RETURN_IF_ERROR(FindEnds());
    for (schedule::UnitId id : schedule_.ExecutionOrder()) {
      const schedule::ScheduleUnit& unit = schedule_.units[id];
      if (unit.sender.valid()) continue;
      CGRAPH_RETURN_IF_ERROR(AddCalls(unit));
      for (const auto& [rank, action] : ends_[unit.first]) Add(rank, {action});
    }
    return std::move(order_);
  }

 private:
  void Add(uint32_t rank, std::vector<Action> actions) {
    const auto step = static_cast<uint32_t>(order_.ranks[rank].size());
    order_.ranks[rank].push_back({std::move(actions), step});
  }

  // Adds what a unit does in the pipeline: one cell, or none.
  Status AddCalls(const schedule::ScheduleUnit& unit) {
    std::vector<CallId> calls;
    for (uint32_t i = 0; i < unit.count; ++i) {
      const Step& step = schedule_.steps[StepId(unit.first.index + i)];
      if (step.kind != Step::kCall || !step.call.valid()) continue;
      if (!pipeline_.ActionOf(step.call)) continue;
      if (calls.empty() || calls.back() != step.call) calls.push_back(step.call);
    }
    if (calls.empty()) return Status::Ok();
    std::vector<Action> actions;
    for (CallId call : calls) {
      const std::vector<Action> begun = ActionsBegunBy(call);
      actions.insert(actions.end(), begun.begin(), begun.end());
    }
    if (actions.empty()) return Status::Ok();  // later calls of an action
    std::sort(actions.begin(), actions.end(), [](const Action& a, const Action& b) {
      return a.kind != b.kind ? a.kind < b.kind : a < b;
    });
    if (!JoinHalves(actions)) {
      return pipeline_.Wrong(fmt::format(
          "{} and {} run as one, and what can are a forward and a whole backward",
          pipeline_.CallText(calls[0]), pipeline_.CallText(calls[1])));
    }
    Add(*pipeline_.RankOf(graph_.calls[calls[0]].device), std::move(actions));
    return Status::Ok();
  }

  // The actions that begin with a call, its own and those that run as one with it; none: it is a
  // later one of its action.
  std::vector<Action> ActionsBegunBy(CallId call) {
    const auto found = unplaced_.find(pipeline_.NumberOf(call));
    if (found == unplaced_.end()) return {*pipeline_.ActionOf(call)};
    return std::exchange(found->second, {});
  }

  // Joins two halves of one backward into a whole one. False: there is no cell for these actions.
  static bool JoinHalves(std::vector<Action>& actions) {
    if (actions.size() >= 2) {
      const Action last = actions.back();
      Action& other = actions[actions.size() - 2];
      const bool whole = other.kind == Kind::kBackwardInput && last.kind == Kind::kBackwardWeight &&
                         other.stage == last.stage && other.microbatch == last.microbatch;
      if (whole) {
        other.kind = Kind::kBackward;
        actions.pop_back();
      }
    }
    return actions.size() == 1 || (actions.size() == 2 && actions[0].kind == Kind::kForward &&
                                   actions[1].kind == Kind::kBackward);
  }

  // ---- transfers --------------------------------------------------------------------------------

  // Parcel: what a step takes to another device: a message has one value, or several.
  struct Parcel {
    StepId step;
    schedule::ValueLocationId from, to;
    CallId maker;
  };
  using Ends = std::map<std::pair<uint32_t, Action>, StepId>;  // by rank and end

  // Finds the ends of transfers. Where several values go from one call to another, the last one
  // counts: then all have arrived.
  Status FindEnds() {
    std::map<graph::ValueId, std::vector<CallId>> readers;
    for (const graph::Op& op : graph_.ops) {
      if (!pipeline_.ActionOf(op.call)) continue;
      for (const graph::Use& use : op.operands) {
        readers[RootOf(graph_, use.value)].push_back(op.call);
      }
    }
    Ends last;
    for (StepId id : schedule_.steps.Ids()) {
      const Step& step = schedule_.steps[id];
      if (step.kind != Step::kTransfer && step.kind != Step::kCopy) continue;
      for (size_t i = 0; i < step.inputs.size() && i < step.outputs.size(); ++i) {
        const graph::ValueId value = RootOf(graph_, schedule_.locations[step.inputs[i]].value);
        const graph::OpId maker = graph_.values[value].producer;
        if (!maker.valid() || !pipeline_.ActionOf(graph_.ops[maker].call)) continue;
        const Parcel parcel{id, step.inputs[i], step.outputs[i], graph_.ops[maker].call};
        for (CallId reader : FirstReaders(readers[value])) {
          const bool leaves = graph_.calls[reader].device != graph_.calls[parcel.maker].device;
          if (leaves) CGRAPH_RETURN_IF_ERROR(AddEnds(parcel, reader, last));
        }
      }
    }
    for (const auto& [end, step] : last) ends_[step].push_back(end);
    return Status::Ok();
  }

  // Of the readers of a value those that need it sent: what came for the forward of a stage is kept
  // for its backward.
  std::vector<CallId> FirstReaders(const std::vector<CallId>& readers) const {
    std::set<std::pair<uint32_t, uint32_t>> have;
    const auto turn = [&](CallId reader) {
      const Action& action = *pipeline_.ActionOf(reader);
      return std::pair(action.stage, action.microbatch);
    };
    const auto is_forward = [&](CallId reader) {
      return pipeline_.ActionOf(reader)->kind == Kind::kForward;
    };
    for (CallId reader : readers) {
      if (is_forward(reader)) have.insert(turn(reader));
    }
    std::vector<CallId> first;
    for (CallId reader : readers) {
      if (is_forward(reader) || !have.count(turn(reader))) first.push_back(reader);
    }
    return first;
  }

  // Adds the ends of values that go to `reader`, on another device than their maker's.
  Status AddEnds(const Parcel& parcel, CallId reader, Ends& last) const {
    const Action from = *pipeline_.ActionOf(parcel.maker), to = *pipeline_.ActionOf(reader);
    const bool forward = from.kind == Kind::kForward && to.kind == Kind::kForward &&
                         to.stage == from.stage + 1;
    const bool backward = from.kind != Kind::kForward && to.kind != Kind::kForward &&
                          from.kind != Kind::kBackwardWeight && to.stage + 1 == from.stage;
    if ((!forward && !backward) || from.microbatch != to.microbatch) {
      return pipeline_.Wrong(fmt::format("{} uses what {} makes, and with transfers only stages "
                                         "next to each other exchange their results",
                                         pipeline_.CallText(reader),
                                         pipeline_.CallText(parcel.maker)));
    }
    const Action send{from.stage, forward ? Kind::kSendForward : Kind::kSendBackward,
                      from.microbatch};
    const Action receive{to.stage, forward ? Kind::kReceiveForward : Kind::kReceiveBackward,
                         to.microbatch};
    const DeviceId home = graph_.calls[parcel.maker].device;
    const DeviceId target = graph_.calls[reader].device;
    if (DeviceOf(parcel.from) == home) last[{*pipeline_.RankOf(home), send}] = parcel.step;
    if (DeviceOf(parcel.to) == target) last[{*pipeline_.RankOf(target), receive}] = parcel.step;
    return Status::Ok();
  }

  DeviceId DeviceOf(schedule::ValueLocationId id) const {
    return schedule_.buffers[schedule_.locations[id].buffer].device;
  }

  const graph::Graph& graph_;
  const schedule::Schedule& schedule_;
  const PipelineCalls& pipeline_;
  const bool transfers_;
  std::map<StepId, std::vector<std::pair<uint32_t, Action>>> ends_;  // rank and end, by step
  // By number of a graph's action: the cells that its first call will take.
  std::map<uint32_t, std::vector<Action>> unplaced_;
  Order order_;
};

}  // namespace

Result<Order> OrderOf(const graph::Module& module, const graph::Graph& graph,
                      const schedule::Schedule& schedule, bool transfers) {
  const Result<std::vector<PipelineCalls>> pipelines = PipelineCalls::Find(module, graph);
  if (!pipelines.ok()) return pipelines.status();
  std::optional<Order> first;
  for (const PipelineCalls& pipeline : *pipelines) {
    Result<Order> order = OrderMaker(graph, schedule, pipeline, transfers).Run();
    if (!order.ok()) return order;
    if (Status status = Complete("the CSV of graph `" + graph.name + "`", *order); !status.ok()) {
      return status;
    }
    if (!transfers) Align(*order);
    if (!first) first = std::move(*order);
    else if (WriteOrder(*first) != WriteOrder(*order)) {
      return pipeline.Wrong(fmt::format(
          "it is {} pipelines side by side, whose orders differ: those that begin with `{}` and "
          "with `{}`; a CSV has one order",
          pipelines->size(), pipelines->front().FirstPlace(), pipeline.FirstPlace()));
    }
  }
  return std::move(*first);
}

}  // namespace cgraph::pipeline
