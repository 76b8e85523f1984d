#include "runtime/plan/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <string_view>

#include "runtime/base/text.h"
#include "runtime/plan/graph_index.h"
#include "runtime/plan/print.h"

namespace cgraph::plan {
namespace {

// The format's times are microseconds; decimals keep every picosecond.
std::string Microseconds(uint64_t ps) {
  constexpr uint64_t kPicoseconds = 1'000'000;
  return fmt::format("{}.{:06}", ps / kPicoseconds, ps % kPicoseconds);
}

class Writer {
 public:
  Writer(const Plan& plan, const TraceProcesses& processes)
      : plan_(plan), processes_(processes) {}

  void Add(const GraphTrace& trace) {
    graph_ = plan_.graphs[trace.graph].get();
    const std::string digest = GraphDigest(plan_, *graph_);
    for (uint32_t rank = 0; rank < std::max<size_t>(1, processes_.names.size()); ++rank) {
      process_ = TraceProcess(plan_, trace.graph, rank);
      // The options that the plan was compiled with explain a digest that differs.
      Line(R"("ph": "M", "name": "process_name", "args": {{"name": {}, "digest": "{}", )"
           R"("inflight": {}, "lanes": {}, "topology": {}}})",
           Quoted(graph_->name), digest, graph_->inflight, plan_.lanes.size(),
           Quoted(plan_.topology));
      if (processes_.names.empty()) continue;
      Line(R"("ph": "M", "name": "process_labels", "args": {{"labels": {}}})",
           Quoted(processes_.names[rank]));
      Line(R"("ph": "M", "name": "process_sort_index", "args": {{"sort_index": {}}})", process_);
    }
    std::vector<std::vector<const TraceEvent*>> lanes(graph_->programs.size());
    for (const TraceEvent& event : trace.events) lanes[event.lane].push_back(&event);
    for (lane_ = 0; lane_ < lanes.size(); ++lane_) {
      if (lanes[lane_].empty()) continue;
      const bool known = lane_ < processes_.of_lane.size();
      process_ = TraceProcess(plan_, trace.graph, known ? processes_.of_lane[lane_] : 0);
      AddLane(lanes[lane_]);
    }
    lane_ = 0;
  }

  std::string Finish(TraceTimes times, std::string_view ended) {
    return fmt::format(
        "{{\"displayTimeUnit\": \"ms\", \"otherData\": {{\"times\": \"{}\"{}}}, "
        "\"traceEvents\": [{}\n]}}\n",
        kTraceTimes[static_cast<size_t>(times)],
        ended.empty() ? "" : fmt::format(", \"run\": \"{}\"", ended), text_);
  }

 private:
  template <typename... Args>
  void Line(fmt::format_string<Args...> form, Args&&... args) {
    text_ +=
        fmt::format("{}\n{{\"pid\": {}, \"tid\": {}, ", text_.empty() ? "" : ",", process_, lane_);
    text_ += fmt::format(form, std::forward<Args>(args)...);
    text_ += '}';
  }

  // Returns the method call that the event computes for; transfers are between calls.
  uint32_t CallOf(const TraceEvent& event) const {
    const Instruction& instruction = graph_->instructions[event.instruction];
    return instruction.kind() == Kind::call ? instruction.call() : kNone;
  }

  void AddLane(const std::vector<const TraceEvent*>& events) {
    Line(R"("ph": "M", "name": "thread_name", "args": {{"name": {}}})",
         Quoted(LaneName(plan_, lane_)));
    Line(R"("ph": "M", "name": "thread_sort_index", "args": {{"sort_index": {}}})", lane_);
    for (size_t i = 0; i < events.size();) {
      const uint32_t call = CallOf(*events[i]);
      size_t end = i + 1;
      while (call != kNone && end < events.size() && CallOf(*events[end]) == call &&
             events[end]->execution == events[i]->execution) {
        ++end;
      }
      if (end > i + 1) {
        AddEvent(CallName(plan_, *graph_, call), "method", *events[i], events[end - 1]->end);
      }
      for (; i < end; ++i) AddInstruction(*events[i]);
    }
  }

  void AddInstruction(const TraceEvent& event) {
    const Kind kind = graph_->instructions[event.instruction].kind();
    AddEvent(InstructionText(plan_, *graph_, event.instruction), wire::EnumNameKind(kind), event,
             event.end, fmt::format(R"(, "instruction": {})", event.instruction));
  }

  void AddEvent(const std::string& name, const char* category, const TraceEvent& event,
                uint64_t end, const std::string& more = "") {
    Line(R"("ph": "X", "name": {}, "cat": "{}", "ts": {}, "dur": {}, "args": {{"execution": {}, )"
         R"("waited_us": {}{}}})",
         Quoted(name), category, Microseconds(event.start), Microseconds(end - event.start),
         event.execution, Microseconds(event.active - event.start), more);
  }

  const Plan& plan_;
  const TraceProcesses& processes_;
  const Graph* graph_ = nullptr;
  uint64_t process_ = 0;
  uint32_t lane_ = 0;
  std::string text_;
};

// The events of communication, by instruction, then round.
using Events = std::map<uint32_t, std::map<uint64_t, TraceEvent*>>;

// Returns null where the instruction was not at work in that round.
TraceEvent* EventAt(Events& events, uint32_t instruction, uint64_t round) {
  std::map<uint64_t, TraceEvent*>& rounds = events[instruction];
  const auto found = rounds.find(round);
  return found == rounds.end() ? nullptr : found->second;
}

void WaitUntil(TraceEvent& event, uint64_t time) {
  event.active = std::min(std::max(event.active, time), event.end);
}

void FindActiveOfMessage(Events& events, uint32_t send, uint32_t receive, bool buffered) {
  for (const auto& [round, sent] : events[send]) {
    TraceEvent* received = EventAt(events, receive, round);
    if (received == nullptr) continue;
    WaitUntil(*received, buffered ? sent->end : sent->start);
    if (!buffered) WaitUntil(*sent, received->active);
  }
}

void FindActiveOfCollective(Events& events, std::span<const CollectivePart> members) {
  for (const auto& round_and_event : events[members[0].instruction]) {
    uint64_t last = 0;
    for (const CollectivePart& member : members) {
      const TraceEvent* event = EventAt(events, member.instruction, round_and_event.first);
      if (event != nullptr) last = std::max(last, event->start);
    }
    for (const CollectivePart& member : members) {
      TraceEvent* event = EventAt(events, member.instruction, round_and_event.first);
      if (event != nullptr) WaitUntil(*event, last);
    }
  }
}

}  // namespace

std::string GraphDigest(const Plan& plan, const Graph& graph) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a: traces are no secrets
  const auto add = [&](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    hash *= 0x100000001b3;
  };
  for (uint32_t i = 0; i < graph.instructions.size(); ++i) add(InstructionText(plan, graph, i));
  for (const Value& value : graph.values) {
    add(fmt::format("{} {} {}", static_cast<int>(value.dtype()), value.rank(), value.bytes()));
  }
  return fmt::format("{:016x}", hash);
}

void FindActive(const Plan& plan, GraphTrace& trace) {
  const Graph& graph = GraphAt(plan, trace.graph);
  GraphIndex index(plan, graph);
  index.IndexMessages();
  Events events;
  for (TraceEvent& event : trace.events) {
    const Instruction& instruction = graph.instructions[event.instruction];
    if (instruction.kind() != Kind::comm) continue;
    events[event.instruction][event.execution + instruction.lag()] = &event;
  }
  for (uint32_t channel = 0; channel < graph.channels.size(); ++channel) {
    const auto sends = index.sends(channel), receives = index.receives(channel);
    const bool buffered = graph.channels[channel].protocol() == Protocol::buffered;
    for (size_t i = 0; i < std::min(sends.size(), receives.size()); ++i) {
      FindActiveOfMessage(events, sends[i].instruction, receives[i].instruction, buffered);
    }
  }
  const std::span<const CollectivePart> parts = index.collective_parts();
  for (size_t first = 0, end = 0; first < parts.size(); first = end) {
    while (end < parts.size() && parts[end].communicator == parts[first].communicator &&
           parts[end].turn == parts[first].turn) {
      ++end;
    }
    FindActiveOfCollective(events, parts.subspan(first, end - first));
  }
}

std::string TraceJson(const Plan& plan, const std::vector<GraphTrace>& traces, TraceTimes times,
                      std::string_view ended, const TraceProcesses& processes) {
  Writer writer(plan, processes);
  for (const GraphTrace& trace : traces) writer.Add(trace);
  return writer.Finish(times, ended);
}

}  // namespace cgraph::plan
