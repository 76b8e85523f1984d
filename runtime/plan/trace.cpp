#include "runtime/plan/trace.h"

#include <fmt/format.h>

#include <iterator>

#include "runtime/plan/print.h"
#include "runtime/status/text.h"

namespace cgraph::plan {
namespace {

// The format's times are microseconds; decimals keep every picosecond.
std::string Microseconds(uint64_t ps) {
  constexpr uint64_t kPicoseconds = 1'000'000;
  return fmt::format("{}.{:06}", ps / kPicoseconds, ps % kPicoseconds);
}

class Writer {
 public:
  explicit Writer(const Plan& plan) : plan_(plan) {}

  void Add(const GraphTrace& trace) {
    graph_ = plan_.graphs[trace.graph].get();
    process_ = trace.graph + 1;
    Line(R"("ph": "M", "name": "process_name", "args": {{"name": {}}})", Quoted(graph_->name));
    std::vector<std::vector<const TraceEvent*>> lanes(graph_->programs.size());
    for (const TraceEvent& event : trace.events) lanes[event.lane].push_back(&event);
    for (lane_ = 0; lane_ < lanes.size(); ++lane_) {
      if (!lanes[lane_].empty()) AddLane(lanes[lane_]);
    }
    lane_ = 0;
  }

  std::string Finish() {
    return "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [" + text_ + "\n]}\n";
  }

 private:
  template <typename... Args>
  void Line(fmt::format_string<Args...> form, Args&&... args) {
    text_ += fmt::format("{}\n{{\"pid\": {}, \"tid\": {}, ", text_.empty() ? "" : ",", process_,
                         lane_);
    fmt::format_to(std::back_inserter(text_), form, std::forward<Args>(args)...);
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
  const Graph* graph_ = nullptr;
  uint32_t process_ = 0, lane_ = 0;
  std::string text_;
};

}  // namespace

std::string TraceJson(const Plan& plan, const std::vector<GraphTrace>& traces) {
  Writer writer(plan);
  for (const GraphTrace& trace : traces) writer.Add(trace);
  return writer.Finish();
}

}  // namespace cgraph::plan
