#include "compiler/schedule/fit/memory_limits.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "compiler/graph/graph.h"
#include "compiler/graph/names.h"
#include "compiler/schedule/accesses.h"
#include "compiler/schedule/fit/least_memory.h"
#include "compiler/schedule/memory/layout.h"
#include "runtime/base/text.h"

namespace cgraph::schedule {
namespace {

constexpr size_t kShownValues = 3;

// Alive: a slot buffer while it is in use.
struct Alive {
  BufferId buffer;
  StepId first, last;
  int64_t bytes;
};

class Report {
 public:
  Report(const graph::Module& module, const graph::Graph& graph, const Schedule& schedule,
         const DeviceLimits& limits, const DeviceLimits& of_devices, const LeastMemory* least)
      : module_(module), graph_(graph), schedule_(schedule), least_(least), limits_(limits),
        of_devices_(of_devices),
        uses_(least ? least->uses : MemoryUses(module, graph, schedule)) {}

  void To(Diagnostics& diagnostics) {
    FindWorst();
    const MemoryUse& use = uses_[device_.index];
    // The machine may have less than the rule allows.
    const bool stated = graph_.rules && graph_.rules->memory_range.valid() &&
                        graph_.rules->memory[device_.index] == limit();
    std::string message =
        fmt::format("graph `{}` needs {}{} on {}{} and may have {}: {} too many", graph_.name,
                    least_ ? "at least " : "", BytesText(use.total()),
                    DeviceName(module_.devices[device_]), least_ ? " in every order" : "",
                    BytesText(limit()), BytesText(use.total() - limit()));
    if (others_ > 0) {
      message +=
          fmt::format("; {} beyond its limit, too",
                      others_ == 1 ? "1 more device is" : fmt::format("{} more are", others_));
    }
    Diagnostic& diagnostic = diagnostics.Report(
        Code::kE0802, graph_.rules ? graph_.rules->range : graph_.range, std::move(message));
    if (stated) diagnostic.AddNote(graph_.rules->memory_range, RuleText());
    if (const auto& all = of_devices_[device_.index]; !stated && all && *all > limit()) {
      diagnostic.AddNote({}, fmt::format("of {} there; the rest is for making the actors and for "
                                         "other graphs, which an engine holds at once: --graph "
                                         "makes a plan of one",
                                         BytesText(*all)));
    }
    if (use.state > limit()) {
      NoteStates(diagnostic);
    } else if (use.slots > 0 && least_ != nullptr) {
      NoteLeast(diagnostic);
    } else if (use.slots > 0) {
      NotePeak(diagnostic);
    }
    diagnostic.AddNote({}, PartsText(use));
    diagnostic.AddNote({}, MendText(use));
  }

 private:
  int64_t limit() const { return *limits_[device_.index]; }

  // Asks after the unit where the limit is hardly meant in bytes.
  std::string RuleText() const {
    constexpr int64_t kLeastMeant = 1024;
    if (limit() >= kLeastMeant) return "the rule";
    return fmt::format("the rule; a number without a unit is one of bytes, {}GiB has one", limit());
  }

  void FindWorst() {
    int64_t worst = 0;
    for (graph::DeviceId id : module_.devices.Ids()) {
      if (!limits_[id.index]) continue;
      const int64_t excess = uses_[id.index].total() - *limits_[id.index];
      others_ += excess > 0;
      if (excess <= worst) continue;
      worst = excess;
      device_ = id;
    }
    --others_;
  }

  std::string PartsText(const MemoryUse& use) const {
    std::vector<std::string> parts;
    const auto add = [&](int64_t bytes, const std::string& what) {
      if (bytes > 0) parts.push_back(BytesText(bytes) + " " + what);
    };
    add(use.slots, graph_.inflight == 1
                       ? "of slots"
                       : fmt::format("of slots, {} for each execution in flight",
                                     BytesText(use.slots / graph_.inflight)));
    add(use.state, "of state");
    add(use.constants, "of constants");
    add(use.outputs, "of outputs");
    return fmt::format("it holds {}{}", least_ ? "at least " : "", fmt::join(parts, ", "));
  }

  std::string MendText(const MemoryUse& use) const {
    const int64_t each = (use.slots + use.outputs) / graph_.inflight;
    const int64_t room = limit() - use.state - use.constants;
    if (room <= 0) {
      return "state and constants are there all the time: put its actors on more devices";
    }
    if (graph_.inflight > 1 && room >= each) {
      return least_ ? fmt::format("no order fits more than `inflight {}`", room / each)
                    : fmt::format("`inflight {}` would fit", room / each);
    }
    if (least_) {
      return "no order fits: make values or a bound smaller, or put the work into calls on more "
             "devices";
    }
    return "fewer or smaller values alive at once would fit: a `limit` on how many calls run "
           "ahead, a smaller bound, or its calls on more devices";
  }

  // Adds notes where no order helps: the largest states, at the expressions that make them.
  void NoteStates(Diagnostic& diagnostic) const {
    std::vector<graph::StateId> states;
    for (graph::StateId id : module_.states.Ids()) {
      const graph::Instance& owner = module_.instances[module_.states[id].instance];
      if (owner.device == device_) states.push_back(id);
    }
    const auto bytes = [&](graph::StateId id) { return module_.states[id].type.bytes(); };
    std::stable_sort(states.begin(), states.end(),
                     [&](graph::StateId a, graph::StateId b) { return bytes(a) > bytes(b); });
    states.resize(std::min(states.size(), kShownValues));
    for (graph::StateId id : states) {
      const graph::State& state = module_.states[id];
      diagnostic.AddNote(SiteOf(id), fmt::format("the state `{}.{}` of {}: {}",
                                                 module_.instances[state.instance].name, state.name,
                                                 TypeText(graph_, state.type),
                                                 BytesText(bytes(id))));
    }
  }
  Range SiteOf(graph::StateId id) const {
    for (const graph::Value& value : module_.start.values) {
      if (value.storage != graph::Value::kState || value.state != id) continue;
      if (!value.producer.valid()) continue;
      return module_.start.ops[value.producer].range;
    }
    return {};
  }

  // ---- where the most is alive ------------------------------------------------------------------

  void NotePeak(Diagnostic& diagnostic) const {
    const std::vector<Alive> all = FindAlive();
    std::map<StepId, int64_t> changes;
    for (const Alive& one : all) {
      changes[one.first] += one.bytes;
      changes[StepId(one.last.index + 1)] -= one.bytes;
    }
    StepId peak;
    int64_t alive = 0, most = 0;
    for (const auto& [step, change] : changes) {
      alive += change;
      if (alive > most) most = alive, peak = step;
    }
    const int64_t height = uses_[device_.index].slots / graph_.inflight;
    std::string text = fmt::format("the most is alive in {}: {}", StepText(peak), BytesText(most));
    if (height > most) {
      text += fmt::format("; {} more are gaps that no value fits into", BytesText(height - most));
    }
    diagnostic.AddNote(SiteOf(peak), std::move(text));
    std::vector<Alive> there = all;
    std::erase_if(there, [&](const Alive& one) { return one.first > peak || one.last < peak; });
    NoteLargest(std::move(there), diagnostic);
  }

  void NoteLeast(Diagnostic& diagnostic) const {
    const LeastMemory::Peak& peak = least_->peaks[device_.index];
    diagnostic.AddNote(SiteOf(peak.step),
                       fmt::format("during {} alone, {} are alive at once", StepText(peak.step),
                                   BytesText(peak.bytes)));
    std::vector<Alive> there;
    for (BufferId id : peak.buffers) {
      there.push_back({id, peak.step, peak.step, Aligned(schedule_.buffers[id].bytes)});
    }
    NoteLargest(std::move(there), diagnostic);
  }

  std::vector<Alive> FindAlive() const {
    const std::vector<std::vector<Access>> accesses = FindAccesses(graph_, schedule_);
    std::vector<Alive> all;
    for (BufferId id : schedule_.buffers.Ids()) {
      const Buffer& buffer = schedule_.buffers[id];
      if (buffer.space != Space::kSlot || buffer.device != device_ || buffer.bytes == 0) continue;
      Alive one{id, StepId(schedule_.steps.size()), StepId(0), Aligned(buffer.bytes)};
      for (const Access& access : accesses[id.index]) {
        one.first = std::min(one.first, access.step);
        one.last = std::max(one.last, access.step);
      }
      all.push_back(one);
    }
    return all;
  }

  void NoteLargest(std::vector<Alive> all, Diagnostic& diagnostic) const {
    std::stable_sort(all.begin(), all.end(),
                     [](const Alive& a, const Alive& b) { return a.bytes > b.bytes; });
    for (size_t i = 0; i < std::min(all.size(), kShownValues); ++i) {
      const graph::Value& value = graph_.values[ValueIn(all[i].buffer)];
      const std::string name = value.name.empty() ? "a value" : "`" + value.name + "`";
      std::string text = fmt::format("{} of {} is alive there: {}", name,
                                     TypeText(graph_, value.type), BytesText(all[i].bytes));
      if (value.producer.valid() && graph_.ops[value.producer].call.valid()) {
        text += ", made by " + CallText(module_, graph_.calls[graph_.ops[value.producer].call]);
      }
      const Range made = value.range.valid() || !value.producer.valid()
                             ? value.range
                             : graph_.ops[value.producer].range;
      diagnostic.AddNote(made, std::move(text));
    }
  }

  // Returns the largest value that lies in a buffer.
  graph::ValueId ValueIn(BufferId buffer) const {
    graph::ValueId found;
    for (const ValueLocation& location : schedule_.locations) {
      if (location.buffer != buffer) continue;
      const bool larger = !found.valid() || graph_.values[location.value].type.bytes() >
                                                graph_.values[found].type.bytes();
      if (larger) found = location.value;
    }
    return found;
  }

  Range SiteOf(StepId id) const {
    const Step& step = schedule_.steps[id];
    return step.call.valid() ? graph_.calls[step.call].site : graph_.range;
  }
  std::string StepText(StepId id) const {
    const Step& step = schedule_.steps[id];
    if (!step.call.valid()) return "the inputs and outputs of the graph";
    const std::string call = CallText(module_, graph_.calls[step.call]);
    return step.kind == Step::kCall ? call : "what carries a result of " + call;
  }

  const graph::Module& module_;
  const graph::Graph& graph_;
  const Schedule& schedule_;
  const LeastMemory* least_;  // null: the report is about the best order that was tried
  const DeviceLimits &limits_, &of_devices_;
  const std::vector<MemoryUse> uses_;
  graph::DeviceId device_;  // the one that exceeds its limit by most
  int others_ = 0;          // that exceed theirs
};

}  // namespace

void ReportMemory(const graph::Module& module, const graph::Graph& graph,
                  const DeviceLimits& limits, const DeviceLimits& of_devices,
                  const Schedule& schedule, const LeastMemory* least, Diagnostics& diagnostics) {
  Report(module, graph, schedule, limits, of_devices, least).To(diagnostics);
}

}  // namespace cgraph::schedule
