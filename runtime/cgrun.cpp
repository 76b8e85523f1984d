// cgrun: runs a cgraph program or plan. Reads the command line, loads (or has compiled) the plan,
// reads the inputs, executes, and says what came out. What each step does is in command/.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <new>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/command/compile_source.h"
#include "runtime/command/inputs.h"
#include "runtime/command/messages.h"
#include "runtime/command/options.h"
#include "runtime/command/results.h"
#include "runtime/command/run.h"
#include "runtime/command/signals.h"
#include "runtime/device/bell.h"
#include "runtime/engine/engine.h"
#include "runtime/plan/check.h"
#include "runtime/plan/device_map.h"
#include "runtime/status/spelling.h"
#include "runtime/status/standard_streams.h"
#include "runtime/status/text.h"

namespace cgraph::command {
namespace {

// After a time-out, until the main thread is taken for lost.
constexpr std::chrono::seconds kGrace(1);

Problem PickGraph(const plan::Plan& plan, const Options& options, uint32_t& picked) {
  std::string names;
  for (uint32_t i = 0; i < plan.graphs.size(); ++i) {
    const std::string& name = plan.graphs[i]->name;
    names += (i == 0 ? "" : ", ") + name;
    picked = i;
    if (!options.graphs.empty() && options.graphs[0] == name) return {};
  }
  if (!options.graphs.empty()) {
    std::vector<std::string> all;
    for (const auto& graph : plan.graphs) all.push_back(graph->name);
    return {kUsage, fmt::format("--graph {}: the plan has no such graph{}; it has {}",
                                options.graphs[0], DidYouMeanHint(options.graphs[0], all), names)};
  }
  if (plan.graphs.size() == 1) return {};
  if (plan.graphs.empty()) return {kFailure, fmt::format("{} has no graph to run", options.file)};
  return {kUsage,
          fmt::format("{} has several graphs; pick one with --graph: {}", options.file, names)};
}

Problem CheckOutputs(const plan::Graph& graph, const Options& options) {
  std::map<std::string, std::string> by_path;
  for (const auto& [name, path] : options.outputs) {
    const auto [first, is_new] = by_path.insert({path, name});
    if (!is_new) {
      return {kUsage, fmt::format("--output {}={}: output {} goes to that file already", name, path,
                                  first->second)};
    }
    std::vector<std::string> names;
    for (const auto& port : graph.outputs) names.push_back(port->name);
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return {kUsage,
              fmt::format("--output {}: graph {} has no such output{}; it has {}", name, graph.name,
                          DidYouMeanHint(name, names),
                          names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")))};
    }
  }
  return {};
}

Problem CheckWeights(const Options& options) {
  std::error_code error;
  if (options.weights.empty() || std::filesystem::is_directory(options.weights, error)) return {};
  return {kEnvironment, fmt::format("--weights {}: there is no such folder", options.weights)};
}

// What is written after the run can be written: found out before it.
Problem CheckWritable(const Options& options) {
  std::vector<std::string> paths;
  for (const auto& [name, path] : options.outputs) paths.push_back(path);
  for (const std::string& path : {options.profile, options.trace}) {
    if (!path.empty()) paths.push_back(path);
  }
  for (const std::string& path : paths) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    const bool there = access(path.c_str(), F_OK) == 0;
    const std::string& needed = there ? path : folder.empty() ? "." : folder;
    if (access(needed.c_str(), W_OK) != 0) {
      return {kEnvironment, fmt::format("cannot write {}: {}", path, std::strerror(errno))};
    }
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
      return {kEnvironment, fmt::format("cannot write {}: it is a folder", path)};
    }
  }
  return {};
}

Problem CheckInflight(const plan::Graph& graph, const Options& options) {
  if (options.inflight <= graph.inflight) return {};
  return {kUsage, fmt::format("--inflight {}: graph {} is compiled for {}; compile with "
                              "--inflight {}",
                              options.inflight, graph.name,
                              Counted(graph.inflight, "execution") + " in flight",
                              options.inflight)};
}

std::string ProfileText(const Engine& engine) {
  nlohmann::ordered_json calls = nlohmann::ordered_json::object();
  for (const auto& [name, ns] : engine.Profile()) calls[name] = ns;
  const nlohmann::ordered_json profile = {{"unit", "ns"}, {"calls", calls}};
  return profile.dump(2) + '\n';
}

Status WriteText(const std::string& text, const std::string& path) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (file) return Status::Ok();
  return {StatusCode::kNotFound, fmt::format("cannot write {}", path)};
}

// The files about the run that were asked for.
Status WriteMeasurements(const Engine& engine, uint32_t graph, const Options& options) {
  if (!options.profile.empty()) {
    CGRAPH_RETURN_IF_ERROR(WriteText(ProfileText(engine), options.profile));
  }
  if (options.trace.empty()) return Status::Ok();
  return WriteText(plan::TraceJson(engine.plan(), {engine.Trace(graph)}), options.trace);
}

void SayStats(const Engine& engine, const Options& options) {
  const Engine::Stats stats = engine.GetStats();
  Say(fmt::format("{}, {} bytes of arenas, {} after the start\n", Counted(stats.workers, "worker"),
                  stats.arena_bytes, Counted(stats.allocations, "allocation")));
  if (options.profile.empty()) return;
  for (const Engine::Stats::Lane& lane : stats.lanes) {
    Say(fmt::format("{}: busy {:.3f} ms\n", lane.name, static_cast<double>(lane.busy_ns) / 1e6));
  }
}

// After the executions: what went wrong, the outputs, the summary.
ExitCode Conclude(const Options& options, const Outcome& outcome, bool interrupted) {
  const Measurements& measured = outcome.measurements;
  ExitCode code = kSuccess;
  if (interrupted) {
    return Fail(options, kInterrupted,
                fmt::format("interrupted after {}", Counted(measured.executions, "execution")));
  }
  if (!outcome.status.ok()) {
    code = Report(options, outcome.status);
  } else if (measured.errors > 0) {
    for (const auto& [message, count] : measured.failures) {
      code = Report(options, kFailure, fmt::format("{}\nin {} of {}", message, count,
                                                   Counted(measured.executions, "execution")));
    }
  }
  Status ended = outcome.status;
  if (ended.ok()) {
    ended = outcome.results.Write(options.outputs);
    if (!ended.ok()) code = Report(options, ended);
  }
  if (options.json) {
    nlohmann::ordered_json json = SummaryJson(measured);
    json["outputs"] = outcome.results.Json(options.outputs);
    if (!ended.ok()) json["error"] = ended.message();
    json["exit_code"] = static_cast<int>(code);
    PrintJson(json);
  } else if (options.outputs.empty() && outcome.status.ok()) {
    std::fputs(outcome.results.Text().c_str(), stdout);
  }
  if (!options.quiet && (options.repeat_given || !options.batch.empty())) {
    Say(SummaryText(measured) + "\n");
  }
  return code;
}

// On a thread of the engine, after a time-out: the main thread concludes, unless it is inside a
// kernel that never returns. What such a kernel uses cannot be destroyed, so nothing is.
void EndTimedOut(const Options& options, Outcome& outcome, const Status& status) {
  std::this_thread::sleep_for(kGrace);
  std::lock_guard lock(outcome.mutex);
  if (outcome.over) return;
  outcome.status = status;
  const ExitCode code = Conclude(options, outcome, /*interrupted=*/false);
  std::fflush(nullptr);
  std::_Exit(code);
}

EngineOptions MakeEngineOptions(const Options& options, Outcome& outcome) {
  EngineOptions engine;
  const std::string folder = std::filesystem::path(options.file).parent_path().string();
  engine.weights_dir = !options.weights.empty() ? options.weights : folder.empty() ? "." : folder;
  engine.workers = options.workers;
  engine.inflight = options.inflight;
  engine.proved = !options.unproved;
  engine.stall_timeout = options.timeout;
  engine.profile = !options.profile.empty();
  engine.trace = !options.trace.empty();
  engine.timed_out = [&](const Status& status) { EndTimedOut(options, outcome, status); };
  return engine;
}

ExitCode Execute(const Options& options, Signals& signals) {
  plan::LoadedPlan loaded = LoadPlan(options, signals);
  if (loaded.plan == nullptr) return loaded.exit_code;
  // Until executions run there is nothing to tear down.
  signals.OnInterrupt([] { std::_Exit(kInterrupted); });
  // The engine checks it again; here its ports are looked at before there is an engine.
  if (Status checked = plan::CheckPlan(*loaded.plan); !checked.ok()) return Fail(options, checked);

  if (!options.device_map.empty()) {
    const Status mapped = plan::MapDevices(*loaded.plan, options.device_map, device::Cores());
    if (!mapped.ok()) return Fail(options, kUsage, mapped.message());
  }
  uint32_t graph = 0;
  Inputs inputs;
  Problem problem = PickGraph(*loaded.plan, options, graph);
  if (problem.ok()) problem = CheckOutputs(*loaded.plan->graphs[graph], options);
  if (problem.ok()) problem = CheckWeights(options);
  if (problem.ok()) problem = CheckWritable(options);
  if (problem.ok()) problem = CheckInflight(*loaded.plan->graphs[graph], options);
  if (problem.ok()) {
    problem = Inputs::Read(*loaded.plan, *loaded.plan->graphs[graph], options, inputs);
  }
  if (!problem.ok()) return Fail(options, problem.code, problem.message);

  Outcome outcome(/*concatenate=*/!options.batch.empty());
  Result<std::unique_ptr<Engine>> made =
      Engine::Load(std::move(loaded.plan), MakeEngineOptions(options, outcome));
  if (!made.ok()) return Fail(options, made.status());
  Engine& engine = **made;
  signals.OnReport([&engine] { return engine.WaitReport(); });
  signals.OnInterrupt([&engine] { engine.Teardown(); });

  Run(engine, graph, inputs, options, outcome);
  signals.OnInterrupt(nullptr);
  signals.OnReport(nullptr);
  ExitCode code = Conclude(options, outcome, signals.interrupted());
  if (options.verbose && !signals.interrupted()) SayStats(engine, options);
  if (outcome.status.code() == StatusCode::kTimeout) {
    // A kernel that never returns cannot be joined, so nothing is destroyed.
    std::fflush(nullptr);
    std::_Exit(code);
  }
  if (code == kSuccess) {
    const Status written = WriteMeasurements(engine, graph, options);
    if (!written.ok()) code = Report(options, written);
  }
  return code;
}

}  // namespace
}  // namespace cgraph::command

int main(int argc, char** argv) {
  using namespace cgraph;
  using namespace cgraph::command;
  cgraph::OccupyStandardStreams();
  const ParsedOptions parsed = ParseOptions(argc, argv);
  if (!parsed.run) return parsed.exit_code;
  Signals signals;
  try {
    const ExitCode code = Execute(parsed.options, signals);
    // A full disk or a closed pipe shows only now: what was printed is not there.
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      return Report(parsed.options, kEnvironment, "cannot write to standard output");
    }
    return code;
  } catch (const std::bad_alloc&) {
    return Fail(parsed.options, kEnvironment, "out of memory");
  }
}
