#include "compiler/inspect/simulate/read_trace.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "runtime/plan/graph_index.h"

namespace cgraph {
namespace {

constexpr double kPicoseconds = 1e6;   // of a microsecond
constexpr double kMostMicroseconds = 1e12;

llvm::Error NoTrace(const std::string& why) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), why.c_str());
}

// Returns a time in picoseconds; none where it is no time.
std::optional<uint64_t> TimeOf(const llvm::json::Object& object, llvm::StringRef key) {
  const auto microseconds = object.getNumber(key);
  if (!microseconds || !(*microseconds >= 0) || *microseconds > kMostMicroseconds) {
    return std::nullopt;
  }
  return static_cast<uint64_t>(std::llround(*microseconds * kPicoseconds));
}

// Returns why a trace's times are not those of a run; "": they are.
std::string WhyNotMeasured(const llvm::json::Object& trace) {
  const llvm::json::Object* told = trace.getObject("otherData");
  const llvm::StringRef times = told ? told->getString("times").getValueOr("") : "";
  if (times == plan::kTraceTimes[static_cast<size_t>(plan::TraceTimes::kMeasured)]) return "";
  if (times == plan::kTraceTimes[static_cast<size_t>(plan::TraceTimes::kSimulated)]) {
    return "the trace of a simulation, not of a run; without --trace, viz simulates and draws that";
  }
  return "it does not say that its times were measured; cgrun --trace writes what viz takes";
}

// Returns what the trace says of this graph's process; null where it has none.
const llvm::json::Object* ProcessOf(const llvm::json::Array& events, uint32_t graph) {
  for (const llvm::json::Value& each : events) {
    const llvm::json::Object* event = each.getAsObject();
    if (event == nullptr || event->getString("name").getValueOr("") != "process_name" ||
        event->getInteger("pid") != static_cast<int64_t>(graph) + 1) {
      continue;
    }
    return event->getObject("args");
  }
  return nullptr;
}

// Returns which flags the run's plan was compiled with, where they differ from this plan's.
std::string DifferentFlags(const plan::Plan& plan, const plan::Graph& graph,
                           const llvm::json::Object& process) {
  std::vector<std::string> flags;
  const auto inflight = process.getInteger("inflight");
  if (inflight && *inflight != static_cast<int64_t>(graph.inflight)) {
    flags.push_back(fmt::format("--inflight {}, and here {}", *inflight, graph.inflight));
  }
  const llvm::StringRef topology = process.getString("topology").getValueOr(plan.topology);
  if (topology != plan.topology) {
    flags.push_back(fmt::format("--topology {}, and here {}", topology.str(), plan.topology));
  }
  const auto lanes = process.getInteger("lanes");
  if (lanes && *lanes != static_cast<int64_t>(plan.lanes.size())) {
    flags.push_back(fmt::format("{} lanes, and here {} (--lanes, --overlap, --no-overlap)", *lanes,
                                plan.lanes.size()));
  }
  return fmt::format("{}", fmt::join(flags, "; "));
}

// Returns why the trace is of no run of this graph; "": it is.
std::string WhyAnotherPlan(const plan::Plan& plan, uint32_t graph,
                           const llvm::json::Array& events) {
  const plan::Graph& in = plan::GraphAt(plan, graph);
  const llvm::json::Object* process = ProcessOf(events, graph);
  if (process != nullptr &&
      process->getString("digest").getValueOr("") == plan::GraphDigest(plan, in)) {
    return "";
  }
  const std::string none = "no run of graph " + in.name + " of this plan: the trace is of another ";
  if (process == nullptr || process->getString("name").getValueOr("") != in.name) {
    return none + "one, or of another graph; --graph names the graph";
  }
  const std::string flags = DifferentFlags(plan, in, *process);
  if (!flags.empty()) {
    return none + "one, compiled with " + flags +
           "; give the plan that ran, or the flags that it was compiled with";
  }
  return none + "one, of another program or compiled with other flags, such as -D or --schedule; " +
         "give the plan that ran";
}

// Returns the event; none where something of it is missing or not of this graph.
std::optional<plan::TraceEvent> EventOf(const plan::Graph& graph, const plan::GraphIndex& index,
                                        const llvm::json::Object& object) {
  const llvm::json::Object* args = object.getObject("args");
  const auto lane = object.getInteger("tid");
  const auto start = TimeOf(object, "ts"), duration = TimeOf(object, "dur");
  if (args == nullptr || !lane || !start || !duration) return std::nullopt;
  const auto instruction = args->getInteger("instruction");
  const auto execution = args->getInteger("execution");
  const auto waited = TimeOf(*args, "waited_us");
  if (!instruction || !execution || !waited || *instruction < 0 || *execution < 0 ||
      static_cast<uint64_t>(*instruction) >= graph.instructions.size() ||
      *execution > UINT32_MAX - 1) {
    return std::nullopt;
  }
  const auto number = static_cast<uint32_t>(*instruction);
  if (static_cast<int64_t>(index.lane(number)) != *lane) return std::nullopt;
  return plan::TraceEvent{static_cast<uint32_t>(*lane), number,
                          static_cast<uint64_t>(*execution), *start,
                          *start + std::min(*waited, *duration), *start + *duration};
}

}  // namespace

llvm::Expected<RunTrace> ReadTrace(const plan::Plan& plan, uint32_t graph,
                                                        llvm::StringRef text) {
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(text);
  if (!parsed) return NoTrace("not JSON: " + llvm::toString(parsed.takeError()));
  const llvm::json::Object* object = parsed->getAsObject();
  const llvm::json::Array* every = object ? object->getArray("traceEvents") : nullptr;
  if (every == nullptr) return NoTrace("no trace, which is an object with `traceEvents`");
  if (const std::string why = WhyNotMeasured(*object); !why.empty()) return NoTrace(why);
  if (const std::string why = WhyAnotherPlan(plan, graph, *every); !why.empty()) {
    return NoTrace(why);
  }
  const plan::Graph& in = plan::GraphAt(plan, graph);
  const plan::GraphIndex index(plan, in);
  RunTrace run;
  run.ended = object->getObject("otherData")->getString("run").getValueOr("").str();
  std::vector<plan::TraceEvent>& events = run.events;
  std::vector<std::optional<uint64_t>> waits_since(plan.lanes.size());
  for (const llvm::json::Value& each : *every) {
    const llvm::json::Object* of = each.getAsObject();
    if (of == nullptr || of->getString("ph").getValueOr("") != "X") continue;
    const int64_t process = of->getInteger("pid").getValueOr(0);
    if (process < 1 || static_cast<uint64_t>(process - 1) % plan.graphs.size() != graph) continue;
    if (of->getString("cat").getValueOr("") == "method") continue;  // around instructions
    std::optional<plan::TraceEvent> event = EventOf(in, index, *of);
    if (!event) return NoTrace("an event does not fit the plan: the trace is of another one");
    std::optional<uint64_t>& since = waits_since[event->lane];
    if (in.instructions[event->instruction].kind() == plan::Kind::wait) {
      since = std::min(since.value_or(event->start), event->start);
      continue;
    }
    event->start = std::min(since.value_or(event->start), event->start);
    since.reset();
    events.push_back(*event);
  }
  if (events.empty()) return NoTrace("no event of graph " + in.name);
  return run;
}

}  // namespace cgraph
