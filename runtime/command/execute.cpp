#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/base/text.h"
#include "runtime/command/gpu_processes.h"
#include "runtime/command/gpus.h"
#include "runtime/command/inputs/inputs.h"
#include "runtime/command/machines.h"
#include "runtime/command/messages.h"
#include "runtime/command/outcome/conclude.h"
#include "runtime/command/outcome/wait_graph.h"
#include "runtime/command/phases.h"
#include "runtime/command/run/calls.h"
#include "runtime/command/run/training.h"
#include "runtime/device/gpus.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/states/saved_states.h"
#include "runtime/plan/check.h"
#include "runtime/plan/load.h"

namespace cgraph::command {
namespace {

// How long after a time-out the main thread is given before it counts as lost.
constexpr std::chrono::seconds kGrace(1);

// LoadProgress: what is done before the first execution, for SIGUSR1. Any thread may report it.
class LoadProgress {
 public:
  explicit LoadProgress(std::string file) : file_(std::move(file)) {}
  void Begin(const std::string& what) {
    std::lock_guard lock(mutex_);
    what_ = what;
    since_ = Clock::now();
  }
  std::string Report() {
    std::lock_guard lock(mutex_);
    const Clock::time_point now = Clock::now();
    return fmt::format("nothing runs yet: loading {}, {} for {:.1f} s, {:.1f} s in all", file_,
                       what_, std::chrono::duration<double>(now - since_).count(),
                       std::chrono::duration<double>(now - start_).count());
  }

 private:
  using Clock = std::chrono::steady_clock;
  const std::string file_;
  const Clock::time_point start_ = Clock::now();
  std::mutex mutex_;  // of what follows
  std::string what_ = "reading it";
  Clock::time_point since_ = start_;
};

// Says which states keep their initial values, since the file lacks them.
void SayOfAbsentStates(const std::string& path, std::vector<std::string> names) {
  constexpr size_t kMost = 8;
  const size_t count = names.size();
  names.resize(std::min(count, kMost));
  Say(fmt::format("cgrun: note: {} keep{} the initial value, since {} lacks {}: {}{}\n",
                  Counted(count, "state"), count == 1 ? "s" : "", path, count == 1 ? "it" : "them",
                  fmt::join(names, ", "), count > kMost ? ", ..." : ""));
}

// Called on a thread of the engine after a time-out. The main thread concludes the run, unless it
// is inside a kernel that never returns. Nothing that such a kernel uses can be destroyed, so
// nothing is.
void EndTimedOut(const Options& options, cluster::Peers* machines, Outcome& outcome,
                 const std::atomic<Engine*>& engine, const std::vector<uint32_t>& graphs,
                 const Status& status) {
  const auto over = [&] {
    std::lock_guard lock(outcome.mutex);
    return outcome.over;
  };
  const auto end = std::chrono::steady_clock::now() + kGrace;
  while (!over() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::lock_guard lock(outcome.mutex);
  if (outcome.over) return;
  outcome.status = status;
  // While the plan is loaded there is no engine.
  std::optional<Measured> measured;
  if (Engine* loaded = engine; loaded != nullptr) measured.emplace(Measured{*loaded, graphs});
  const ExitCode code =
      Conclude(options, outcome, [] { return false; }, measured ? &*measured : nullptr);
  SayEnds(machines);
  std::fflush(nullptr);
  std::_Exit(code);
}

EngineOptions MakeEngineOptions(const Options& options, const GpuPlacement& placement) {
  EngineOptions engine = options.engine;
  // One process with GPUs has its threads.
  if (engine.processes == 1 && !placement.gpus.empty()) engine.processes = 0;
  engine.gpus = !placement.gpus.empty();
  engine.gpu_map = placement.gpus;
  return engine;
}

// Work: what is executed: one graph with its inputs, or calls of several.
struct Work {
  std::vector<uint32_t> graphs;
  std::unique_ptr<plan::Graph> seen;  // of a graph that repeats: with the program's ports alone
  std::atomic<bool> stopped = false;  // of such a graph: no further round begins
  Inputs inputs;
  Training training;
  Calls calls;
};

// Does everything that needs no engine: maps devices, finds the graph, reads its inputs, checks
// where results go.
Problem Prepare(plan::Plan& plan, const Options& options, cluster::Peers* machines,
                GpuPlacement& placement, Work& work) {
  // The engine checks the plan again; this check comes first because its ports are read before
  // there is an engine.
  if (Status checked = plan::CheckPlan(plan); !checked.ok()) {
    return ProblemOfPlan(options, checked);
  }
  if (machines != nullptr) {
    if (Problem refused = CheckMachineFlags(options); !refused.ok()) return refused;
    if (Problem refused = CheckProcessCount(plan, *machines); !refused.ok()) return refused;
  }
  if (Problem placed = PlaceGpus(plan, options, machines, placement); !placed.ok()) {
    return placed;
  }
  std::vector<const plan::Graph*> graphs;
  const std::vector<std::string> names =
      options.graphs.empty() ? std::vector<std::string>{""} : options.graphs;
  for (const std::string& name : names) {
    const char* const flag = options.calls.empty() ? "--graph" : "--call";
    const Result<uint32_t> found = plan::FindGraph(plan, name, flag);
    if (!found.ok()) {
      if (plan.graphs.empty()) return ProblemOfPlan(options, found.status());
      return {kUsage, found.status().message()};
    }
    if (plan::IsBefore(plan, *found)) {
      return {kUsage, fmt::format("--graph {}: it stands before the rounds of another graph, which "
                                  "executes it: run that one",
                                  name)};
    }
    work.graphs.push_back(*found);
    graphs.push_back(plan.graphs[*found].get());
  }
  if (Problem refused = CheckRepeats(graphs, options); !refused.ok()) return refused;
  if (const plan::Repeat* repeat = graphs[0]->repeat.get()) {
    if (repeat->before != plan::kNone) work.graphs.push_back(repeat->before);
    work.seen = std::make_unique<plan::Graph>(*graphs[0]);
    work.seen->inputs.resize(repeat->inputs);
    work.seen->outputs.resize(repeat->outputs);
    graphs[0] = work.seen.get();
  }
  Problem problem = CheckOptions(plan, graphs, options, machines);
  if (!problem.ok()) return problem;
  if (!options.calls.empty()) return Calls::Prepare(plan, options, work.calls);
  // Where nothing is executed, no input is needed.
  if (options.repeat == 0 && options.inputs.empty() && options.batch.empty()) return {};
  problem = Training::Prepare(plan, *graphs[0], options, work.inputs, work.training);
  if (!problem.ok()) return problem;
  if (const auto eval = work.training.eval_graph()) work.graphs.push_back(*eval);
  placement.notes.push_back(work.inputs.NoteOfLeftOut());
  return {};
}

void SayNotes(const Engine& engine, const Options& options, const cluster::Peers* machines,
              std::vector<std::string> notes) {
  notes.push_back(NoteOfNodes(engine.plan(), options, machines));
  notes.push_back(engine.NoteOfWorkers());
  notes.push_back(NoteOfUnsupervised(machines));
  for (std::string& warning : device::TakeGpuWarnings()) notes.push_back(std::move(warning));
  for (const std::string& note : notes) {
    if (!note.empty()) Say(fmt::format("cgrun: note: {}\n", note));
  }
}

// Gives states the values of --load-state, and finds where the run goes on.
Problem SetStates(const Options& options, Engine& engine, Training& training) {
  if (options.load_state.empty()) return {};
  StatesMetadata metadata;
  const auto absent = LoadStates(options.load_state, engine, &metadata);
  if (!absent.ok()) return ProblemOf(absent.status());
  if (!absent->empty() && !options.quiet) SayOfAbsentStates(options.load_state, *absent);
  return training.Resume(metadata, options);
}

// Runs what is asked for, and writes what came of it; returns the exit code. After a time-out the
// process ends.
ExitCode RunAndConclude(Engine& engine, Work& work, const Options& options,
                        cluster::Peers* machines, Signals& signals, Outcome& outcome,
                        const GpuProcesses& processes) {
  signals.OnReport([&engine, &options] {
    std::string report = engine.WaitReport() + "\n" + WriteWaitGraph(options, &engine);
    report.pop_back();
    return report;
  });
  if (options.training.save_every > 0) {
    signals.OnInterrupt([&work] { work.training.Stop(); }, Signals::Patience::kForWhole);
  } else if (work.seen != nullptr) {
    signals.OnInterrupt([&work] { work.stopped = true; }, Signals::Patience::kForWhole);
  } else {
    signals.OnInterrupt([&engine] { engine.Teardown(); });
  }

  if (work.seen != nullptr && options.repeat > 0) {
    RunRounds(engine, work.graphs[0], work.inputs, options, work.stopped, outcome);
  } else if (options.calls.empty()) {
    Run(engine, work.graphs[0], work.inputs, work.training, options, outcome);
  } else {
    work.calls.Run(engine, options, outcome);
  }
  signals.OnReport(nullptr);
  const Measured measured{engine, work.graphs};
  const ExitCode code =
      Conclude(options, outcome, [&signals] { return signals.interrupted(); }, &measured);
  signals.OnInterrupt(nullptr);
  if (options.verbose && !signals.interrupted()) SayStats(engine, options, processes.why_not);
  if (outcome.status.code() == StatusCode::kTimeout) {
    // A kernel that never returns cannot be joined, so nothing is destroyed.
    SayEnds(machines);
    std::fflush(nullptr);
    std::_Exit(code);
  }
  return code;
}

}  // namespace

ExitCode Execute(const Options& options, cluster::Peers* machines, Signals& signals) {
  // Until executions run there is nothing to tear down.
  const auto end_early = [&options, machines] {
    const ExitCode code = Fail(options, kInterrupted, "interrupted before the first execution");
    SayUnwritten(options, code);
    SayEnds(machines);
    std::fflush(stdout);
    std::_Exit(code);
  };
  LoadProgress progress(options.file);
  signals.OnReport([&progress] { return progress.Report(); });
  if (options.is_source()) progress.Begin("compiling it");
  signals.OnInterrupt(end_early);
  plan::PlanOrExit loaded = LoadPlan(options, signals);
  if (loaded.plan == nullptr) {
    signals.OnReport(nullptr);
    SayUnwritten(options, loaded.exit_code);
    return loaded.exit_code;
  }
  signals.OnInterrupt(end_early);  // a compilation had its own
  // An interrupt must not print a message beside this one.
  const auto fail = [&](const Problem& problem) {
    signals.OnInterrupt(nullptr);
    signals.OnReport(nullptr);
    return Fail(options, problem.code, problem.message);
  };
  const auto fail_to_load = [&](const Problem& problem) {
    const ExitCode code = fail(problem);
    SayNothingRan(options, code);
    return code;
  };
  progress.Begin("looking for GPUs and reading inputs");
  Work work;
  GpuPlacement placement;
  if (Problem problem = Prepare(*loaded.plan, options, machines, placement, work); !problem.ok()) {
    const ExitCode code = fail(problem);
    SayUnwritten(options, code);
    return code;
  }
  const bool sliced = work.inputs.is_batched();
  Outcome outcome(options.every || work.seen != nullptr ? (sliced ? Keep::kPasses : Keep::kStacked)
                                : (sliced ? Keep::kConcatenated : Keep::kLast),
                  work.inputs.executions());
  std::atomic<Engine*> running = nullptr;
  EngineOptions engine_options = MakeEngineOptions(options, placement);
  engine_options.peers = machines;
  if (!options.load_state.empty()) LeaveOutLoads(options.load_state, *loaded.plan);
  engine_options.loading = [&](const std::string& what) { progress.Begin(what); };
  engine_options.timed_out = [&](const Status& status) {
    EndTimedOut(options, machines, outcome, running, work.graphs, status);
  };
  GpuProcesses processes =
      ChooseGpuProcesses(*loaded.plan, options, placement, machines != nullptr);
  Result<std::unique_ptr<Engine>> made =
      LoadChosen(std::move(loaded.plan), engine_options, processes);
  if (!made.ok()) {
    if (made.status().code() == StatusCode::kTimeout) Say(WriteWaitGraph(options, nullptr));
    const bool is_of_plan = made.status().code() == StatusCode::kInvalid;
    return fail_to_load(is_of_plan ? ProblemOfPlan(options, made.status())
                                   : ProblemOf(made.status()));
  }
  Engine& engine = **made;
  running = &engine;
  if (!options.quiet) SayNotes(engine, options, machines, std::move(placement.notes));
  const Problem ready = SetStates(options, engine, work.training);
  if (!ready.ok()) return fail_to_load(ready);
  return RunAndConclude(engine, work, options, machines, signals, outcome, processes);
}

}  // namespace cgraph::command
