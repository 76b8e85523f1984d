#include "runtime/engine/measurements.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/load/communication/collectives.h"
#include "runtime/plan/graph_index.h"
#include "runtime/plan/print.h"
#include "runtime/plan/trace.h"

namespace cgraph::engine {

Engine::Stats Measurements::GetStats() {
  ranks_.GatherMeasurements();
  Engine::Stats stats;
  const Submitter::Counts counts = submitter_.GetCounts();
  stats.executions = counts.executions;
  stats.errors = counts.errors;
  stats.allocations = pool_.made();
  stats.arena_bytes = loaded_.arenas->bytes();
  stats.workers = static_cast<uint32_t>(workers_.workers.size());
  stats.ranks = ranks_.Stats();
  stats.lanes.resize(loaded_.plan->lanes.size());
  for (uint32_t lane = 0; lane < loaded_.plan->lanes.size(); ++lane) {
    stats.lanes[lane].name = plan::LaneName(*loaded_.plan, lane);
  }
  stats.gpus = loaded_.GpusOfMachine();
  stats.communicators = CommunicatorsOnGpus();
  stats.captures = loaded_.Captures() + ranks_.CapturesOfOthers();
  for (const auto& graph : loaded_.graphs) {
    const plan::GraphIndex index(*loaded_.plan, *graph->plan);
    for (const StepList& program : graph->programs) {
      for (size_t i = 0; i < program.timings.size(); ++i) {
        stats.lanes[index.lane(program.steps[i].instruction)].busy_ns +=
            program.timings[i].ns.load(std::memory_order_relaxed);
      }
    }
  }
  return stats;
}

// Returns whether all members are on GPUs, and some on another machine than others or all on this
// one: it is not known here what carries out communicators of another machine.
bool Measurements::CountsAsOnGpus(const plan::GraphIndex& index,
                          std::span<const plan::CollectivePart> members) const {
  std::set<uint32_t> nodes;
  for (const plan::CollectivePart& part : members) {
    const uint32_t device = index.device(part.instruction);
    if (!loaded_.gpus.contains(device)) return false;
    nodes.insert(loaded_.apart ? loaded_.plan->devices[device]->node : loaded_.rank);
  }
  return nodes.size() > 1 || nodes.contains(loaded_.rank);
}

std::vector<Engine::Stats::Communicator> Measurements::CommunicatorsOnGpus() const {
  std::map<uint32_t, Engine::Stats::Communicator> found;  // by the plan's number
  for (const auto& graph : loaded_.graphs) {
    if (loaded_.gpus.empty()) break;
    plan::GraphIndex index(*loaded_.plan, *graph->plan);
    index.IndexMessages();
    static_cast<void>(ForEachCollective(*loaded_.plan, index, [&](size_t first, auto members) {
      if (!CountsAsOnGpus(index, members)) return Status::Ok();
      const uint32_t number = members.front().communicator;
      Engine::Stats::Communicator& communicator = found[number];
      for (const plan::CollectivePart& part : members) {
        if (communicator.members.size() == members.size()) break;
        communicator.members.push_back(
            plan::DeviceName(*loaded_.plan, index.device(part.instruction)));
      }
      const plan::CommPart& part = graph->plan->parts[members.front().part];
      ++((part.flags() & plan::kIsMessage) != 0 ? communicator.messages : communicator.collectives);
      communicator.by_library += loaded_.native.Of(graph->index, first) != nullptr;
      return Status::Ok();
    }));
  }
  std::vector<Engine::Stats::Communicator> communicators;
  for (auto& [number, communicator] : found) {
    communicator.by_library += loaded_.native.CountElsewhere(number);
    communicators.push_back(std::move(communicator));
  }
  return communicators;
}

// A method call's time is the sum of its instructions' times. A method's time is the mean over all
// its calls and, where an actor has several instances, over each instance's.
std::vector<std::pair<std::string, double>> Measurements::Profile() const {
  ranks_.GatherMeasurements();
  struct Sum {
    double ns = 0;
    uint64_t calls = 0;
  };
  std::map<std::string, Sum> methods;
  std::map<std::string, std::map<std::string, Sum>> instances;  // of a method
  for (const auto& graph : loaded_.graphs) {
    std::map<uint32_t, Sum> calls;
    for (const StepList& program : graph->programs) {
      for (size_t i = 0; i < program.timings.size(); ++i) {
        const uint32_t call = graph->plan->instructions[program.steps[i].instruction].call();
        if (call == plan::kNone || program.steps[i].op != Op::kCall) continue;
        calls[call].ns += program.timings[i].ns.load(std::memory_order_relaxed);
        calls[call].calls = std::max(calls[call].calls,
                                     program.timings[i].count.load(std::memory_order_relaxed));
      }
    }
    for (const auto& [call, sum] : calls) {
      const plan::Call& at = graph->plan->calls[call];
      std::string name = loaded_.plan->names[at.method()];
      std::vector<Sum*> sums;
      if (at.place() != plan::kNone) {
        const plan::Actor& actor = *loaded_.plan->actors[at.place()];
        const std::string on = actor.name + "." + name;
        name = actor.class_name + "." + name;
        sums.push_back(&instances[name][on]);
      }
      sums.push_back(&methods[name]);
      for (Sum* to : sums) {
        to->ns += sum.ns;
        to->calls += sum.calls;
      }
    }
  }
  for (const auto& [method, each] : instances) {
    if (each.size() > 1) methods.insert(each.begin(), each.end());
  }
  std::vector<std::pair<std::string, double>> profile;
  for (const auto& [name, sum] : methods) {
    if (sum.calls != 0) profile.emplace_back(name, sum.ns / sum.calls);
  }
  return profile;
}

namespace {

// TraceBuilder: the events of one work queue's log. Instructions of a group were at work together.
// What a communication waits for, and what it then moves, are one event, which is active from the
// first of these that is no wait.
class TraceBuilder {
 public:
  TraceBuilder(const StepList& program, const plan::GraphIndex& index,
               std::vector<plan::TraceEvent>& events)
      : program_(program), index_(index), events_(events) {}

  void Add(const TracedStep& traced) {
    const Step& step = program_.steps[traced.step];
    if (step.op != Op::kComm) {
      AddEvent(traced, step.instruction, step.lag);
      return;
    }
    const CommOp* parts = program_.parts.data() + step.operands.first;
    Communication& last = last_of_lane_[index_.lane(parts[0].instruction)];
    if (last.step == traced.step && last.round == traced.round && last.count != 0) {
      return Extend(last, traced);
    }
    last = {traced.step, traced.round, events_.size(), 0, traced.waited};
    for (uint32_t i = 0; i < step.operands.count; ++i) {
      if (i != 0 && parts[i].instruction == parts[i - 1].instruction) continue;
      AddEvent(traced, parts[i].instruction, parts[i].lag);
      ++last.count;
    }
  }

 private:
  // A communication in one round, and its events.
  struct Communication {
    uint32_t step = 0;
    uint64_t round = 0;
    size_t first = 0, count = 0;
    bool only_waits = false;
  };

  void AddEvent(const TracedStep& traced, uint32_t instruction, uint16_t lag) {
    events_.push_back({index_.lane(instruction), instruction, traced.round - lag, traced.start_ns,
                       traced.start_ns, traced.end_ns});
  }
  void Extend(Communication& last, const TracedStep& traced) {
    const bool begins = last.only_waits && !traced.waited;
    last.only_waits = last.only_waits && traced.waited;
    for (size_t i = last.first; i < last.first + last.count; ++i) {
      events_[i].end = traced.end_ns;
      if (begins) events_[i].active = traced.start_ns;
    }
  }

  const StepList& program_;
  const plan::GraphIndex& index_;
  std::vector<plan::TraceEvent>& events_;
  std::map<uint32_t, Communication> last_of_lane_;
};

}  // namespace

namespace {

// A trace has so many events at the most: viewers bear some hundred megabytes, and a user
// who has interrupted a long run does not wait for its trace.
constexpr size_t kMostTraced = 1 << 18;

// Returns from which execution on a log that is full lacks steps of a graph.
uint64_t CompleteIn(const TraceLog& log, uint32_t graph, const StepList& program) {
  uint16_t lag = 0;
  for (const Step& step : program.steps) lag = std::max(lag, step.lag);
  for (const CommOp& part : program.parts) lag = std::max(lag, part.lag);
  for (size_t t = log.size(); t-- > 0;) {
    if (log[t].graph == graph) return log[t].round - std::min<uint64_t>(lag, log[t].round);
  }
  return 0;
}

// Keeps the first executions of a trace: those before `complete` have all their events, of them as
// many as fit. The first one stays in any case.
void KeepFirst(uint64_t complete, plan::GraphTrace& trace) {
  std::map<uint64_t, size_t> events_of;  // by execution
  for (const plan::TraceEvent& event : trace.events) ++events_of[event.execution];
  if (events_of.empty()) return;
  size_t events = 0;
  auto end = events_of.begin();
  while (end != events_of.end() && end->first < complete && events + end->second <= kMostTraced) {
    events += end->second;
    ++end;
  }
  if (end == events_of.end()) return;
  if (end == events_of.begin()) ++end;  // a part of one is better than nothing
  const uint64_t first_left_out = end == events_of.end() ? UINT64_MAX : end->first;
  trace.only_first = static_cast<uint64_t>(std::distance(events_of.begin(), end));
  std::erase_if(trace.events, [&](const auto& at) { return at.execution >= first_left_out; });
}

}  // namespace

// Times count from the beginning of the first instruction of all.
plan::GraphTrace Measurements::Trace(uint32_t graph) const {
  plan::GraphTrace trace{graph, {}};
  if (graph >= loaded_.plan->graphs.size()) return trace;
  ranks_.GatherMeasurements();
  const LoadedGraph& loaded = *loaded_.graphs[graph];
  const plan::GraphIndex index(*loaded_.plan, *loaded.plan);
  uint64_t complete = UINT64_MAX;
  for (size_t s = 0; s < workers_.work_queues.size(); ++s) {
    TraceBuilder builder(loaded.programs[s], index, trace.events);
    const TraceLog& log = workers_.work_queues[s]->tracer().log();
    const size_t size = log.size();
    for (size_t t = 0; t < size; ++t) {
      if (log[t].graph == graph && log[t].start_ns >= measured_from_) builder.Add(log[t]);
    }
    // Of a log that has ended for want of room the last round lacks steps, and so do those before
    // it whose instructions lag.
    if (log.full()) complete = std::min(complete, CompleteIn(log, graph, loaded.programs[s]));
  }
  KeepFirst(complete, trace);
  uint64_t origin = UINT64_MAX;
  for (const plan::TraceEvent& event : trace.events) origin = std::min(origin, event.start);
  constexpr uint64_t kPicoseconds = 1000;
  for (plan::TraceEvent& event : trace.events) {
    for (uint64_t* time : {&event.start, &event.active, &event.end}) {
      *time = (*time - origin) * kPicoseconds;
    }
  }
  plan::FindActive(*loaded_.plan, trace);
  return trace;
}

plan::TraceProcesses Measurements::Processes() const {
  plan::TraceProcesses processes;
  if (!loaded_.several_ranks()) return processes;
  for (uint32_t rank = 0; rank < loaded_.ranks; ++rank) {
    processes.names.push_back(ranks_.TextOf(rank));
  }
  for (uint32_t lane = 0; lane < loaded_.plan->lanes.size(); ++lane) {
    processes.of_lane.push_back(loaded_.rank_of_worker[loaded_.WorkerOfLane(lane)]);
  }
  return processes;
}

void Measurements::Forget() {
  ranks_.ForgetMeasurements();
  measured_from_ =
      static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  for (const auto& graph : loaded_.graphs) {
    for (const StepList& program : graph->programs) {
      for (size_t i = 0; i < program.timings.size(); ++i) {
        program.timings[i].ns.store(0, std::memory_order_relaxed);
        program.timings[i].count.store(0, std::memory_order_relaxed);
      }
    }
  }
}

}  // namespace cgraph::engine
