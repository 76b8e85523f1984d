#include "bench/schedule_harness/pipeline.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "bench/schedule_harness/temporary_file.h"
#include "bench/schedule_harness/topology.h"
#include "compiler/driver/compile.h"
#include "compiler/inspect/simulate.h"

namespace cgraph::bench {
namespace {

// Reading: the calls of a simulation, device by device.
class Reading {
 public:
  Reading(const plan::Plan& plan, const PipelineSetup& pipeline)
      : plan_(plan), graph_(*plan.graphs[0]), chunks_(static_cast<double>(pipeline.chunks)) {
    const double weight = static_cast<double>(pipeline.weight_bytes) /
                          static_cast<double>(pipeline.activation_bytes);
    changes_ = {{"forward", 1},
                {"backward", -1},
                {"backward_input", weight - 1},
                {"backward_weight", -weight}};
  }

  void Read(const Simulation& simulation, PipelineFigures& figures) {
    for (const plan::TraceEvent& event : simulation.events) Read(event);
    figures.makespan = last_ - first_;
    for (auto& [lane, calls] : calls_) {
      uint64_t first = UINT64_MAX, last = 0;
      double now = 0;
      std::sort(calls.begin(), calls.end());
      for (const Call& call : calls) {
        first = std::min(first, call.start);
        last = std::max(last, call.end);
        now += call.change;
        figures.peak_activations = std::max(figures.peak_activations, now / chunks_);
      }
      figures.largest_span = std::max(figures.largest_span, last - first);
    }
  }

 private:
  struct Call {
    uint64_t start, end;
    double change;
    auto operator<=>(const Call&) const = default;
  };

  void Read(const plan::TraceEvent& event) {
    const uint32_t call = graph_.instructions[event.instruction].call();
    if (graph_.instructions[event.instruction].kind() != plan::Kind::call || call == plan::kNone) {
      return;
    }
    const auto change = changes_.find(plan_.names[graph_.calls[call].method()]);
    if (change == changes_.end() || event.start == event.end) return;
    calls_[event.lane].push_back({event.active, event.end, change->second});
    first_ = std::min(first_, event.active);
    last_ = std::max(last_, event.end);
  }

  const plan::Plan& plan_;
  const plan::Graph& graph_;
  const double chunks_;
  std::map<std::string, double> changes_;        // of memory, in M_B of a chunk, by method
  std::map<uint32_t, std::vector<Call>> calls_;  // by lane
  uint64_t first_ = UINT64_MAX, last_ = 0;
};

}  // namespace

Profile ProfileOf(const PipelineSetup& pipeline) {
  const auto chunks = static_cast<uint64_t>(pipeline.chunks);
  Profile profile;
  profile.call_ps = {{"Stage.forward", pipeline.forward / chunks},
                     {"Stage.backward", (pipeline.backward + pipeline.weight) / chunks},
                     {"Stage.backward_input", pipeline.backward / chunks},
                     {"Stage.backward_weight", pipeline.weight / chunks}};
  return profile;
}

Result<PipelineFigures> Measure(const PipelineSetup& pipeline) {
  const TemporaryFile file(ProgramOf(pipeline), ".cgraph");
  if (file.path().empty()) {
    return Status(StatusCode::kNotFound, "cannot write a temporary file");
  }
  const cost::Topology topology = TopologyWithDelay("of the pipeline", pipeline.comm);
  CompileOptions options;
  options.path = file.path();
  options.lanes = CommLanes::kEdge;
  options.profile = ProfileOf(pipeline);
  options.topology = &topology;
  options.goal = pipeline.goal;
  if (pipeline.effort > 0) options.effort = pipeline.effort;
  if (pipeline.most_activations > 0) {
    // Besides the activations a device holds messages, each on a cache line of its own.
    const int64_t messages = 8 * 64 * pipeline.microbatches * pipeline.chunks;
    options.memory = pipeline.most_activations * pipeline.activation_bytes + messages;
  }
  Sources sources;
  Diagnostics diagnostics(sources);
  const auto begin = std::chrono::steady_clock::now();
  const Compilation compiled = Compile(options, sources, diagnostics);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (!compiled.plan) return Status(StatusCode::kInvalid, diagnostics.Text(/*max_errors=*/20));
  PipelineFigures figures;
  figures.seconds = took.count();
  const Simulation simulation = Simulate(*compiled.plan, 0);
  Reading(*compiled.plan, pipeline).Read(simulation, figures);
  // The last device starts when the first micro-batch has come through one chunk of each other one.
  const auto others = static_cast<uint64_t>(pipeline.stages) - 1;
  figures.lower_bound =
      others * (pipeline.forward / static_cast<uint64_t>(pipeline.chunks) + pipeline.comm) +
      pipeline.work();
  return figures;
}

}  // namespace cgraph::bench
