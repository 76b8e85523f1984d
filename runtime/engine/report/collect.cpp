#include "runtime/engine/report/collect.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "runtime/plan/graph_index.h"
#include "runtime/plan/kinds.h"
#include "runtime/plan/print.h"
#include "runtime/transport/collective.h"

namespace cgraph::engine {
namespace {

using transport::Presence;
using State = WaitingLane::State;

bool IsWork(const plan::Instruction& instruction) {
  return instruction.kind() != plan::Kind::wait && instruction.kind() != plan::Kind::signal;
}

// Lookup: what is found in a graph by looking through all of it, once for a report.
class Lookup {
 public:
  Lookup(const plan::Plan& plan, const LoadedGraph& loaded)
      : index_(plan, *loaded.plan), loaded_(loaded), steps_(loaded.programs.size()) {
    index_.IndexMessages();
    const plan::Graph& graph = *loaded.plan;
    signal_of_event_.assign(graph.events, plan::kNone);
    for (uint32_t i = 0; i < graph.instructions.size(); ++i) {
      const plan::Instruction& at = graph.instructions[i];
      if (at.kind() == plan::Kind::signal) signal_of_event_[at.subject()] = i;
    }
    const auto parts = index_.collective_parts();
    for (size_t i = 0; i < parts.size(); ++i) collective_at_[parts[i].part] = i;
  }

  const plan::GraphIndex& index() const { return index_; }
  uint32_t SignalOf(uint32_t event) const { return signal_of_event_[event]; }
  // Returns the last instruction with work before one, in its lane; the next one from it on; kNone
  // where there is none.
  uint32_t WorkBefore(uint32_t instruction) const {
    const plan::Graph& graph = *loaded_.plan;
    const uint32_t first = graph.programs[index_.lane(instruction)].first();
    while (instruction > first) {
      if (IsWork(graph.instructions[--instruction])) return instruction;
    }
    return plan::kNone;
  }
  uint32_t WorkFrom(uint32_t instruction) const {
    const plan::Graph& graph = *loaded_.plan;
    const plan::Range& program = graph.programs[index_.lane(instruction)];
    for (; instruction < program.first() + program.count(); ++instruction) {
      if (IsWork(graph.instructions[instruction])) return instruction;
    }
    return plan::kNone;
  }
  // Returns the step of a work queue that an instruction is, or is a part of.
  uint32_t StepOf(uint32_t work_queue, uint32_t instruction) {
    std::unordered_map<uint32_t, uint32_t>& steps = steps_[work_queue];
    const StepList& program = loaded_.programs[work_queue];
    const bool known = !steps.empty();
    for (uint32_t s = 0; !known && s < program.steps.size(); ++s) {
      const Step& step = program.steps[s];
      steps.emplace(step.instruction, s);
      for (uint32_t p = 0; step.op == Op::kComm && p < step.operands.count; ++p) {
        steps.emplace(program.parts[step.operands.first + p].instruction, s);
      }
    }
    const auto found = steps.find(instruction);
    return found == steps.end() ? plan::kNone : found->second;
  }
  // Returns the other end of a message, by the part of one end; kNone where it has none.
  uint32_t OtherEnd(uint32_t part) const {
    const plan::CommPart& at = loaded_.plan->parts[part];
    const bool sends = at.part() == plan::Part::send;
    const auto own = sends ? index_.sends(at.subject()) : index_.receives(at.subject());
    const auto others = sends ? index_.receives(at.subject()) : index_.sends(at.subject());
    for (size_t j = 0; j < std::min(own.size(), others.size()); ++j) {
      if (own[j].part == part) return others[j].instruction;
    }
    return plan::kNone;
  }
  // Returns the parts of the members of a collective, by the part of one of them.
  std::span<const plan::CollectivePart> MembersOf(uint32_t part) const {
    const auto found = collective_at_.find(part);
    if (found == collective_at_.end()) return {};
    const plan::CollectivePart& own = index_.collective_parts()[found->second];
    const uint32_t members = index_.plan().communicators[own.communicator].members();
    return index_.collective_parts().subspan(found->second - own.member, members);
  }

 private:
  plan::GraphIndex index_;
  const LoadedGraph& loaded_;
  std::vector<uint32_t> signal_of_event_;
  std::unordered_map<uint32_t, size_t> collective_at_;  // by part: among collective_parts()
  std::vector<std::unordered_map<uint32_t, uint32_t>> steps_;  // by work queue; empty: not yet
};

class Collector {
 public:
  explicit Collector(const ReportSource& source)
      : source_(source), plan_(source.plan), now_(PositionLog::Time::clock::now()),
        lookups_(source.graphs.size()) {}

  void AddAll() {
    for (uint32_t w = 0; w < source_.work_queues.size(); ++w) {
      const WorkQueue& work_queue = *source_.work_queues[w];
      const Position position = work_queue.positions().Where();
      const std::vector<Position> queues = work_queue.positions().OfQueues();
      // One that has issued all waits for its queues; the position is the first queue's then.
      if (!position.idle && !position.of_queue) Add(w, position);
      for (const Position& queue : queues) Add(w, queue);
      if (position.idle && queues.empty() && work_queue.inbox().NextGraph()) Add(w, position);
    }
  }
  void Add(uint32_t work_queue, const Position& position) {
    uint32_t slot = 0;
    if (position.of_queue) slot = StepAt(work_queue, position).queue;
    of_queue_[{work_queue, slot}] = static_cast<uint32_t>(places_.size());
    places_.push_back({work_queue, slot, position});
  }

  std::vector<CollectedLane> Describe() {
    std::vector<CollectedLane> lanes;
    for (const Place& place : places_) {
      lanes.push_back({Describe(place), place.work_queue});
      std::vector<uint32_t>& goals = lanes.back().lane.waits_for;
      std::sort(goals.begin(), goals.end());
      goals.erase(std::unique(goals.begin(), goals.end()), goals.end());
    }
    return lanes;
  }

 private:
  // Place: a queue that has work left, and where it is.
  struct Place {
    uint32_t work_queue, slot;
    Position position;
  };
  // Goal: a lane that another one waits for.
  struct Goal {
    uint32_t lane;
    std::string for_what;  // "to send it"
  };

  const Step& StepAt(uint32_t work_queue, const Position& position) const {
    const StepList& program = source_.graphs[position.graph]->programs[work_queue];
    return program.steps[std::min<size_t>(position.step, program.steps.size() - 1)];
  }
  Lookup& LookupOf(uint32_t graph) {
    if (lookups_[graph] == nullptr) {
      lookups_[graph] = std::make_unique<Lookup>(plan_, *source_.graphs[graph]);
    }
    return *lookups_[graph];
  }

  WaitingLane Describe(const Place& place) {
    if (place.position.idle) return DescribeNotBegun(place);
    const LoadedGraph& loaded = *source_.graphs[place.position.graph];
    const plan::Graph& graph = *loaded.plan;
    const Step& step = StepAt(place.work_queue, place.position);
    Lookup& lookup = LookupOf(place.position.graph);
    WaitingLane lane;
    SetLane(lookup.index().lane(step.instruction), place, lane);
    lane.execution = ExecutionText(loaded, place.position, step.lag);
    SetInstruction(loaded, lookup, step, lane);
    SetBefore(loaded, place, lane);
    if (place.position.running) {
      lane.state = State::kRunning;
      lane.why = "is running";
    } else if (step.op == Op::kWait) {
      DescribeWait(loaded, step, place, lane);
    } else if (step.op == Op::kComm) {
      DescribeComm(loaded, step, place, lane);
    } else {
      lane.state = State::kNext;
      lane.why = "is next";
    }
    if (place.position.of_queue) DescribeQueue(graph, place, lane);
    return lane;
  }

  WaitingLane DescribeNotBegun(const Place& place) {
    WaitingLane lane;
    const uint32_t g = source_.work_queues[place.work_queue]->inbox().NextGraph().value_or(0);
    const StepList& program = source_.graphs[g]->programs[place.work_queue];
    if (!program.steps.empty()) {
      SetLane(LookupOf(g).index().lane(program.steps.front().instruction), place, lane);
    }
    lane.state = State::kNotBegun;
    lane.execution = IsStart(g) ? std::string(kStart)
                                : fmt::format("its next execution of `{}`",
                                              source_.graphs[g]->plan->name);
    AddBusyWorker(place, lane);
    return lane;
  }

  // A worker with several work queues issues of one of them at a time, and may be inside a kernel.
  void AddBusyWorker(const Place& place, WaitingLane& lane) const {
    const std::vector<uint32_t>& workers = source_.placement.worker_of_work_queue;
    for (uint32_t i = 0; i < places_.size(); ++i) {
      const Place& other = places_[i];
      if (other.work_queue == place.work_queue || !other.position.running ||
          other.position.of_queue || workers[other.work_queue] != workers[place.work_queue]) {
        continue;
      }
      lane.waits_for.push_back(i);
      lane.why = "its worker is inside another lane's kernel";
    }
  }

  void SetLane(uint32_t id, const Place& place, WaitingLane& lane) const {
    lane.name = plan::LaneName(plan_, id);
    lane.device = plan::LogicalDeviceOf(*plan_.devices[plan_.lanes[id].device()]);
    lane.seconds = source_.log.SecondsAt(place.work_queue, place.slot, place.position, now_);
  }

  // Sets what the lane does, or is to do when it has waited.
  void SetInstruction(const LoadedGraph& loaded, const Lookup& lookup, const Step& step,
                      WaitingLane& lane) const {
    const plan::Graph& graph = *loaded.plan;
    const uint32_t at = lookup.WorkFrom(step.instruction);
    lane.doing = at == plan::kNone ? "the end of the round"
                                   : plan::InstructionText(plan_, graph, at);
    if (at != plan::kNone && graph.instructions[at].call() != plan::kNone) {
      const uint32_t call = graph.instructions[at].call();
      lane.call = plan::CallName(plan_, graph, call);
      lane.site = plan::SiteText(plan_, graph.calls[call].site());
    }
  }

  // Sets what the queue did before, for whichever of its lanes: in this round or, in a plan that
  // has no other graph, at the end of the one before.
  void SetBefore(const LoadedGraph& loaded, const Place& place, WaitingLane& lane) const {
    const std::vector<Step>& steps = loaded.programs[place.work_queue].steps;
    const auto at = steps.begin() + std::min<size_t>(place.position.step, steps.size());
    const auto find = [&](auto end) {
      const auto found = std::find_if(std::make_reverse_iterator(end), steps.rend(),
                                      [&](const Step& step) {
                                        return step.queue == place.slot &&
                                               step.op != Op::kWait && step.op != Op::kSignal;
                                      });
      if (found == steps.rend()) return false;
      lane.before = plan::InstructionText(plan_, *loaded.plan, found->instruction);
      return true;
    };
    if (find(at) || place.position.round == 0 || plan_.graphs.size() != 1) return;
    if (find(steps.end())) lane.before += ", in the round before";
  }

  bool IsStart(uint32_t graph) const { return graph >= plan_.graphs.size(); }
  std::string ExecutionText(const LoadedGraph& loaded, const Position& position,
                            uint16_t lag) const {
    if (IsStart(position.graph)) return std::string(kStart);
    const uint64_t own = position.round % loaded.frames.size();
    const uint64_t back = lag % loaded.frames.size();
    const Frame& frame = loaded.frames[(own + loaded.frames.size() - back) % loaded.frames.size()];
    if (position.round < lag || frame.words->empty.load(std::memory_order_relaxed)) {
      return fmt::format("an empty execution of `{}`", loaded.plan->name);
    }
    // Messages count executions from 1.
    return fmt::format("execution {} of `{}`", position.round - lag + 1, loaded.plan->name);
  }

  // Says what was issued to a queue, and what of it is over. Where a queue does not know which of
  // its operations runs, names the last one that may.
  void DescribeQueue(const plan::Graph& graph, const Place& place, WaitingLane& lane) const {
    const Position& position = place.position;
    if (position.running && position.last_step != position.step) {
      const StepList& program = source_.graphs[position.graph]->programs[place.work_queue];
      const uint32_t last = program.steps[position.last_step].instruction;
      lane.others = fmt::format(", or one behind it, up to {}",
                                plan::InstructionText(plan_, graph, last));
    }
    lane.progress = fmt::format("{} of {} issued operations are over", position.finished,
                                position.finished + position.pending);
  }

  // Describes what a step waits for: one event. The other signals that its instruction waits for
  // have come or are asked later.
  void DescribeWait(const LoadedGraph& loaded, const Step& step, const Place& place,
                    WaitingLane& lane) {
    const plan::Graph& graph = *loaded.plan;
    const plan::Instruction& wait = graph.instructions[step.instruction];
    Lookup& lookup = LookupOf(place.position.graph);
    if (wait.kind() != plan::Kind::wait) return DescribeOwnWait(loaded, lookup, step, lane);
    for (uint32_t w = wait.first(); w < wait.first() + wait.inputs(); ++w) {
      const TimelineSemaphore& event = loaded.events[graph.waits[w].event()];
      if (step.queue == 0 ? event.word() != step.word : &event != step.semaphore) continue;
      const uint32_t signal = lookup.SignalOf(graph.waits[w].event());
      if (signal == plan::kNone) continue;
      // The instruction whose end the signal announces stands before the signal.
      const uint32_t work = lookup.WorkBefore(signal);
      std::string for_what;
      if (work != plan::kNone) {
        for_what = " to finish: " + plan::InstructionText(plan_, graph, work);
      }
      WaitFor({{lookup.index().lane(signal), std::move(for_what)}}, lane);
      return;
    }
  }

  // Describes a call of native code that waits for what was issued to its queue before, or for the
  // object before its own (load/objects).
  void DescribeOwnWait(const LoadedGraph& loaded, const Lookup& lookup, const Step& step,
                       WaitingLane& lane) const {
    for (const StepList& program : loaded.programs) {
      for (const Step& other : program.steps) {
        if (other.op != Op::kSignal || other.instruction == step.instruction) continue;
        if (other.semaphore->word() != step.word) continue;
        return WaitFor({{lookup.index().lane(other.instruction),
                         " to make its object: objects of Python's are made in the places' order"}},
                       lane);
      }
    }
    const uint32_t own = IndexOf(source_.queue_map.OfLane(lookup.index().lane(step.instruction)));
    lane.why = "waits for what its queue was given before";
    if (own != plan::kNone && places_[own].slot != 0) lane.waits_for.push_back(own);
  }

  // Describes which other ends, and which members of collectives, have not come.
  void DescribeComm(const LoadedGraph& loaded, const Step& step, const Place& place,
                    WaitingLane& lane) {
    const plan::Graph& graph = *loaded.plan;
    const StepList& program = loaded.programs[place.work_queue];
    // What is carried out of each instruction: its messages, and its collectives in their order.
    std::map<uint32_t, std::vector<const CommOp*>> collectives;
    for (uint32_t i = 0; i < step.operands.count; ++i) {
      const CommOp& part = program.parts[step.operands.first + i];
      std::vector<const CommOp*>& of_instruction = collectives[part.instruction];
      if (part.kind == CommOp::Kind::kCollective) of_instruction.push_back(&part);
    }
    std::vector<Goal> goals;
    for (const auto& [instruction, parts] : collectives) {
      const plan::Instruction& comm = graph.instructions[instruction];
      size_t next = 0;
      for (uint32_t p = comm.first(); p < comm.first() + comm.inputs(); ++p) {
        if (graph.parts[p].part() != plan::Part::collective) {
          AddOtherEnd(graph, p, place.position, goals);
        } else if (next < parts.size()) {
          AddMembers(*parts[next++], p, place.position, goals);
        }
      }
    }
    if (!goals.empty()) return WaitFor(goals, lane);
    lane.why = source_.apart ? "waits for messages that are under way"
                             : "is at work with the others";
  }

  void AddOtherEnd(const plan::Graph& graph, uint32_t part, const Position& position,
                   std::vector<Goal>& goals) {
    const uint32_t other = LookupOf(position.graph).OtherEnd(part);
    if (other == plan::kNone || HasCome(other, position)) return;
    const bool sends = graph.parts[part].part() == plan::Part::send;
    goals.push_back({LookupOf(position.graph).index().lane(other),
                     sends ? " to receive it" : " to send it"});
  }

  void AddMembers(const CommOp& part, uint32_t plan_part, const Position& position,
                  std::vector<Goal>& goals) {
    Lookup& lookup = LookupOf(position.graph);
    const auto add = [&](const plan::CollectivePart& member, const char* for_what) {
      goals.push_back({lookup.index().lane(member.instruction), for_what});
    };
    const auto presence = [&](uint32_t member) {
      return part.collective->PresenceOf(member, position.round);
    };
    const auto members = lookup.MembersOf(plan_part);
    for (const plan::CollectivePart& member : members) {
      if (member.part == plan_part) continue;
      const bool here = source_.apart ? HasCome(member.instruction, position)
                                      : presence(member.member) != Presence::kAway;
      if (!here) add(member, " to take part in it");
    }
    // A member that has done its share waits until the others have done theirs.
    if (source_.apart || presence(part.member) != Presence::kLeft) return;
    for (const plan::CollectivePart& member : members) {
      if (presence(member.member) == Presence::kPresent) add(member, " to do its share of it");
    }
  }

  // Returns whether the queue of an instruction's lane has come to it, in the round of `position`,
  // or is past it.
  bool HasCome(uint32_t instruction, const Position& position) {
    Lookup& lookup = LookupOf(position.graph);
    const QueueMap::Queue& queue = source_.queue_map.OfLane(lookup.index().lane(instruction));
    const uint32_t index = IndexOf(queue);
    if (index == plan::kNone) return true;  // nothing is left to do there
    const Position& other = places_[index].position;
    if (other.idle || other.graph != position.graph) return false;
    if (other.round != position.round) return other.round > position.round;
    const uint32_t step = lookup.StepOf(queue.work_queue, instruction);
    return step == plan::kNone || step <= other.step;
  }

  // Returns the place of a queue or, where nothing is issued to it, that of the work queue that
  // will; kNone where neither has work left.
  uint32_t IndexOf(const QueueMap::Queue& queue) const {
    for (const uint32_t slot : {queue.slot, 0u}) {
      const auto found = of_queue_.find({queue.work_queue, slot});
      if (found != of_queue_.end()) return found->second;
    }
    return plan::kNone;
  }

  // Says whom a lane waits for, those of the same kind together.
  void WaitFor(const std::vector<Goal>& goals, WaitingLane& lane) const {
    std::map<std::string, std::set<uint32_t>> kinds;  // by what for: lanes
    for (const Goal& goal : goals) {
      const uint32_t index = IndexOf(source_.queue_map.OfLane(goal.lane));
      if (index != plan::kNone) lane.waits_for.push_back(index);
      kinds[goal.for_what + (goals.size() == 1 ? Behind(goal.lane, index) : "")].insert(goal.lane);
    }
    for (const auto& [what, lanes] : kinds) {
      lane.why += fmt::format("{}waits for {}{}", lane.why.empty() ? "" : ", ", LanesText(lanes),
                              what);
    }
  }

  // Says why a lane that is waited for does nothing, where its queue is at another lane's work.
  std::string Behind(uint32_t lane, uint32_t index) const {
    if (index == plan::kNone) return ", which has nothing left to do";
    const Place& place = places_[index];
    if (place.position.idle) return "";
    const plan::Graph& graph = *source_.graphs[place.position.graph]->plan;
    const uint32_t at =
        plan::LaneOf(graph, StepAt(place.work_queue, place.position).instruction);
    return at == lane ? "" : fmt::format(", behind what {} does", plan::LaneName(plan_, at));
  }

  std::string LanesText(const std::set<uint32_t>& lanes) const {
    constexpr size_t kNamed = 2;
    std::vector<std::string> names;
    std::vector<LogicalDevice> devices;
    for (uint32_t lane : lanes) {
      if (lanes.size() <= kNamed) names.push_back(plan::LaneName(plan_, lane));
      devices.push_back(plan::LogicalDeviceOf(*plan_.devices[plan_.lanes[lane].device()]));
    }
    return lanes.size() <= kNamed ? fmt::format("{}", fmt::join(names, " and "))
                                  : DevicesText(std::move(devices));
  }

  static constexpr const char* kStart = "the initialisation";

  const ReportSource& source_;
  const plan::Plan& plan_;
  const PositionLog::Time now_;
  std::vector<Place> places_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> of_queue_;  // by work queue and slot
  std::vector<std::unique_ptr<Lookup>> lookups_;                // by graph
};

}  // namespace

std::vector<CollectedLane> CollectLanes(const ReportSource& source) {
  Collector collector(source);
  collector.AddAll();
  return collector.Describe();
}

std::vector<WaitingLane> LanesAt(const ReportSource& source, uint32_t work_queue,
                                 const std::vector<Position>& positions) {
  Collector collector(source);
  for (const Position& position : positions) collector.Add(work_queue, position);
  std::vector<WaitingLane> lanes;
  for (CollectedLane& collected : collector.Describe()) lanes.push_back(std::move(collected.lane));
  return lanes;
}

}  // namespace cgraph::engine
