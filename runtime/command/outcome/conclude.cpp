#include "runtime/command/outcome/conclude.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "runtime/base/hardware.h"
#include "runtime/base/output_files.h"
#include "runtime/base/text.h"
#include "runtime/command/messages.h"
#include "runtime/command/outcome/wait_graph.h"
#include "runtime/device/gpus.h"
#include "runtime/engine/states/saved_states.h"
#include "runtime/plan/call_flops.h"
#include "runtime/plan/print.h"
#include "runtime/plan/trace.h"

namespace cgraph::command {
namespace {

std::string ProfileText(const Engine& engine, std::string_view ended) {
  nlohmann::ordered_json calls = nlohmann::ordered_json::object();
  for (const auto& [name, ns] : engine.Profile()) calls[name] = ns;
  // What was measured: cgc compares it with what it is to give these times.
  nlohmann::ordered_json consts = nlohmann::ordered_json::object();
  for (const auto& each : engine.plan().parameters) consts[each->name] = each->value;
  nlohmann::ordered_json flops = nlohmann::ordered_json::object();
  for (const auto& [name, numbers] : plan::CallFlops(engine.plan())) {
    if (calls.contains(name)) flops[name] = numbers;
  }
  const Hardware hardware = ThisHardware();
  nlohmann::ordered_json machine = {{"cpu", hardware.cpu}, {"cores", hardware.cores}};
  std::set<std::string> gpus;
  for (const auto& [device, gpu] : engine.GetStats().gpus) {
    const auto& all = device::FindGpus().gpus;
    if (gpu < all.size()) gpus.insert(all[gpu].name);
  }
  if (!gpus.empty()) machine["gpus"] = gpus;
  nlohmann::ordered_json profile = {
      {"unit", "ns"},
      {"calls", calls},
      {"measured", {{"consts", consts}, {"flops", flops}, {"machine", machine}}}};
  if (!ended.empty()) profile["run"] = ended;
  return profile.dump(2) + '\n';
}

std::vector<std::string> OutputFilesOf(const Options& options) {
  std::vector<std::string> files;
  for (const auto& [name, path] : options.outputs) files.push_back(path);
  return files;
}

void SayNotWritten(const Options& options, const std::vector<std::string>& files,
                  std::string_view why) {
  if (options.quiet || files.empty()) return;
  SayNote(options, fmt::format("{} {} not written, since {}", fmt::join(files, ", "),
                               files.size() == 1 ? "is" : "are", why));
}

// Says that the outputs in these files, and states, are not written, and why. States that the run
// has saved meanwhile are still there; `saved`: after how many executions.
void SayOfLostResults(const Options& options, std::vector<std::string> files, std::string_view why,
                      uint64_t saved) {
  if (!options.save_state.empty() && saved == 0) files.push_back(options.save_state);
  if (saved > 0) {
    SayNote(options, fmt::format("{} has the states after {}", options.save_state,
                                 Counted(saved, "execution")));
  }
  SayNotWritten(options, files, why);
}

ExitCode ReportFailures(const Options& options, const Measurements& measured) {
  for (const Failure& failure : measured.failures) {
    const std::string which =
        failure.count == 1
            ? fmt::format("execution {} of {}", failure.first, measured.executions)
            : fmt::format("{} of {}, the first is number {}", failure.count,
                          Counted(measured.executions, "execution"), failure.first);
    Report(options, kFailure, fmt::format("{}\nin {}", failure.message, which));
  }
  if (measured.other_failures > 0) {
    Report(options, kFailure,
           fmt::format("{} with messages other than these {}",
                       Counted(measured.other_failures, "more failed execution"),
                       measured.failures.size()));
  }
  return kFailure;
}

// Returns "profile.json and trace.json", those that were asked for; else nothing.
std::string MeasurementFiles(const Options& options) {
  if (options.profile.empty() || options.profile == options.trace) return options.trace;
  return options.profile + (options.trace.empty() ? "" : " and " + options.trace);
}

Status AddMeasurements(OutputFiles& files, const Options& options, const Measured& run,
                       std::string_view ended) {
  if (!options.profile.empty()) {
    CGRAPH_RETURN_IF_ERROR(files.Add(options.profile, ProfileText(run.engine, ended)));
  }
  if (options.trace.empty()) return Status::Ok();
  std::vector<plan::GraphTrace> traces;
  uint64_t only_first = 0;
  for (uint32_t graph : run.graphs) {
    traces.push_back(run.engine.Trace(graph));
    only_first = std::max<uint64_t>(only_first, traces.back().only_first);
  }
  if (only_first != 0 && !options.quiet) {
    SayNote(options,
            fmt::format("{} has the first {} alone: there is no room for more in a trace",
                        options.trace, Counted(only_first, "execution")));
  }
  return files.Add(options.trace,
                   plan::TraceJson(run.engine.plan(), traces, plan::TraceTimes::kMeasured, ended,
                                   run.engine.TraceProcesses()));
}

// Writes results and measurements. The files take their names together, when all of them are
// complete, and not where the run is interrupted before that.
Status WriteFiles(const Options& options, const Outcome& outcome, const Measured* run,
                  std::string_view ended, const std::function<bool()>& interrupted) {
  OutputFiles files(options.save_state.empty() ? OutputFiles::Durability::kProcess
                                               : OutputFiles::Durability::kPower);
  CGRAPH_RETURN_IF_ERROR(outcome.results.Add(files, options.outputs));
  if (run != nullptr) CGRAPH_RETURN_IF_ERROR(AddMeasurements(files, options, *run, ended));
  if (run != nullptr && ended.empty() && !options.save_state.empty()) {
    const auto note = AddStates(files, options.save_state, run->engine, outcome.states_metadata);
    if (!note.ok()) return note.status();
    SayNote(options, *note);
  }
  if (interrupted()) return {StatusCode::kClosed, "interrupted"};
  return files.Commit();
}

void SayOfFailedRun(const Options& options, std::string_view ended) {
  if (options.quiet || MeasurementFiles(options).empty()) return;
  SayNote(options, fmt::format("{} {} what was measured until the run {}",
                  MeasurementFiles(options),
                  options.profile.empty() || options.trace.empty() ? "has" : "have",
                  ended == plan::kRunFailed ? "failed" : "was interrupted"));
}

// Writes the measurements of a run without results: the time before it failed is what is looked at.
void WriteMeasurements(const Options& options, const Measured* run, std::string_view ended) {
  if (MeasurementFiles(options).empty()) return;
  if (run == nullptr) return SayUnwritten(options, kFailure);
  OutputFiles files;
  Status written = AddMeasurements(files, options, *run, ended);
  if (written.ok()) written = files.Commit();
  if (!written.ok()) {
    Report(options, written);
  } else {
    SayOfFailedRun(options, ended);
  }
}

nlohmann::ordered_json DevicesJson(const Engine::Stats& stats, const plan::Plan& plan) {
  nlohmann::ordered_json devices = nlohmann::ordered_json::array();
  for (const auto& [device, gpu] : stats.gpus) {
    devices.push_back({{"device", plan::DeviceName(plan, device)},
                       {"gpu", fmt::format("cuda:{}", gpu)},
                       {"name", device::FindGpus().gpus[gpu].name}});
  }
  return devices;
}

// Returns NCCL's version; empty where it carried nothing.
std::string NcclVersion(const Engine::Stats& stats) {
  const auto is_used = [](const Engine::Stats::Communicator& each) { return each.by_library > 0; };
  if (std::none_of(stats.communicators.begin(), stats.communicators.end(), is_used)) return "";
  for (const device::GpuLibrary& library : device::FindGpuLibraries()) {
    if (library.name == "NCCL") return library.version;
  }
  return "";
}

// Adds which GPUs a run had and what carried its work out there; nothing where it had none.
void AddGpus(const Measured& run, nlohmann::ordered_json& json) {
  const Engine::Stats stats = run.engine.GetStats();
  if (stats.gpus.empty()) return;
  const std::string nccl = NcclVersion(stats);
  nlohmann::ordered_json communicators = nlohmann::ordered_json::array();
  for (const Engine::Stats::Communicator& each : stats.communicators) {
    communicators.push_back(
        {{"members", each.members},
         {"collectives", each.collectives},
         {"messages", each.messages},
         {"by_nccl", each.by_library},
         {"nccl", each.by_library == 0 ? nlohmann::ordered_json()
                                       : nlohmann::ordered_json(nccl)}});
  }
  json["gpus"] = DevicesJson(stats, run.engine.plan());
  json["communicators"] = std::move(communicators);
  json["cuda_graphs"] = stats.captures;
}

// Adds which processes served which devices; nothing where there was one.
void AddProcesses(const Measured& run, nlohmann::ordered_json& json) {
  const Engine::Stats stats = run.engine.GetStats();
  if (stats.ranks.empty()) return;
  nlohmann::ordered_json& processes = json["processes"] = nlohmann::ordered_json::array();
  for (const Engine::Stats::Rank& rank : stats.ranks) {
    processes.push_back({{"process", rank.process}, {"devices", rank.devices}});
    if (!rank.host.empty()) processes.back()["host"] = rank.host;
  }
}

void SayGpus(const Engine::Stats& stats, const plan::Plan& plan) {
  for (const auto& [device, number] : stats.gpus) {
    const device::Gpu& gpu = device::FindGpus().gpus[number];
    Say(fmt::format("{} is cuda:{} ({}, PCI {})\n", plan::DeviceName(plan, device), number,
                    gpu.name, gpu.pci));
  }
  const std::string nccl = NcclVersion(stats);
  for (const Engine::Stats::Communicator& each : stats.communicators) {
    std::vector<std::string> what;
    if (each.collectives != 0) what.push_back(Counted(each.collectives, "collective"));
    if (each.messages != 0) what.push_back(Counted(each.messages, "message"));
    Say(fmt::format("{} of {}: {} by NCCL{}, {} by copies and kernels of cgraph\n",
                    fmt::join(what, " and "), fmt::join(each.members, ", "), each.by_library,
                    each.by_library == 0 ? "" : " " + nccl,
                    each.collectives + each.messages - each.by_library));
  }
  if (stats.gpus.empty()) return;
  Say(stats.captures == 0 ? "no CUDA graphs: every kernel is launched by itself\n"
                          : Counted(stats.captures, "CUDA graph") + " in the plan's captures\n");
}

// Returns ", reads 3 MiB of weights"; nothing where it is of none.
std::string WeightsText(const char* verb, uint64_t bytes) {
  return bytes == 0 ? "" : fmt::format(", {} {} of weights", verb, BytesText(bytes));
}

// Writes the states of a run that saves them meanwhile, too: those after its last whole execution.
// Returns after how many executions there are saved ones now.
uint64_t SaveInterrupted(const Options& options, const Outcome& outcome, Engine& engine) {
  const bool whole = outcome.over && outcome.status.ok() && outcome.measurements.errors == 0;
  if (!whole || outcome.saved == outcome.made) return outcome.saved;
  const auto note = SaveStates(options.save_state, engine, outcome.states_metadata);
  if (!note.ok()) {
    Report(options, note.status());
    return outcome.saved;
  }
  SayNote(options, *note);
  return outcome.made;
}

ExitCode ConcludeInterrupted(const Options& options, const Outcome& outcome, const Measured* run) {
  uint64_t saved = outcome.saved;
  // States come first: a kill may follow.
  if (options.training.save_every > 0 && run != nullptr) {
    saved = SaveInterrupted(options, outcome, run->engine);
  }
  WriteMeasurements(options, run, plan::kRunInterrupted);
  SayOfLostResults(options, OutputFilesOf(options), "the run was interrupted", saved);
  const std::string executions = EndedEarlyText(outcome);
  return Fail(options, kInterrupted,
              fmt::format("interrupted{}{}", executions.empty() ? "" : "; ", executions));
}

}  // namespace

ExitCode Conclude(const Options& options, const Outcome& outcome,
                  const std::function<bool()>& interrupted, const Measured* run) {
  const Measurements& measured = outcome.measurements;
  ExitCode code = kSuccess;
  if (interrupted()) return ConcludeInterrupted(options, outcome, run);
  Status ended = outcome.status;
  if (!ended.ok()) {
    const std::string executions = EndedEarlyText(outcome);
    if (!executions.empty()) ended = {ended.code(), ended.message() + "\n" + executions};
    code = Report(options, ended);
    if (outcome.status.code() == StatusCode::kTimeout) {
      Say(WriteWaitGraph(options, run == nullptr ? nullptr : &run->engine));
    }
  } else if (measured.errors > 0) {
    code = ReportFailures(options, measured);
  }
  const bool failed = code != kSuccess;
  if (failed) {
    // A run in which executions have failed writes what it has.
    SayOfLostResults(options,
                     ended.ok() ? outcome.results.Absent(options.outputs) : OutputFilesOf(options),
                     "the run has failed", outcome.saved);
  }
  if (ended.ok()) {
    ended = WriteFiles(options, outcome, run, failed ? plan::kRunFailed : "", interrupted);
    if (!ended.ok() && interrupted()) return ConcludeInterrupted(options, outcome, run);
    if (!ended.ok()) {
      code = Report(options, ended);
      SayOfLostResults(options, OutputFilesOf(options), "not all files could be written",
                       outcome.saved);
    } else if (failed && run != nullptr) {
      SayOfFailedRun(options, plan::kRunFailed);
    } else if (measured.wanted == 0) {
      SayNotWritten(options, outcome.results.Absent(options.outputs), "nothing was executed");
    }
  } else {
    WriteMeasurements(options, run, plan::kRunFailed);
  }
  if (options.json) {
    nlohmann::ordered_json json = SummaryJson(measured);
    if (run != nullptr) {
      AddGpus(*run, json);
      AddProcesses(*run, json);
    }
    if (outcome.rounds) {
      json["rounds"] = outcome.rounds->made;
      json["done"] = outcome.rounds->done;
    }
    json["outputs"] = outcome.results.Json(options.outputs, /*written=*/ended.ok());
    if (!ended.ok()) json["error"] = ended.message();
    json["exit_code"] = static_cast<int>(code);
    PrintJson(json);
  } else if (options.outputs.empty() && outcome.status.ok()) {
    std::fputs(Printable(outcome.results.Text()).c_str(), stdout);
  }
  if (!options.quiet &&
      (options.repeat_given || !options.batch.empty() || !options.calls.empty() ||
       outcome.rounds)) {
    Say(SummaryText(measured) + "\n");
  }
  return code;
}

void SayNothingRan(const Options& options, ExitCode code) {
  if (code == kUsage) return;
  SayUnwritten(options, code);
  SayOfLostResults(options, OutputFilesOf(options), "no execution was begun", 0);
}

void SayUnwritten(const Options& options, ExitCode code) {
  const std::string files = MeasurementFiles(options);
  if (options.quiet || files.empty() || code == kUsage) return;
  SayNote(options, fmt::format("{} {} not written, as nothing was measured", files,
                               files == options.profile || files == options.trace ? "is" : "are"));
}

void SayStats(const Engine& engine, const Options& options, const std::string& one_process) {
  const Engine::Stats stats = engine.GetStats();
  Say(fmt::format("{}, {} bytes of arenas, {} after the start\n", Counted(stats.workers, "worker"),
                  stats.arena_bytes, Counted(stats.allocations, "allocation")));
  for (size_t rank = 0; rank < stats.ranks.size(); ++rank) {
    const Engine::Stats::Rank& at = stats.ranks[rank];
    Say(fmt::format("rank {}: process {}{}{}, {}{}{}\n", rank, at.process,
                    at.host.empty() ? "" : " on ", at.host, at.devices,
                    WeightsText("reads", at.weights_read),
                    WeightsText("was sent", at.weights_sent)));
  }
  SayGpus(stats, engine.plan());
  std::set<uint32_t> gpus;
  for (const auto& [device, gpu] : stats.gpus) gpus.insert(gpu);
  if (stats.ranks.empty() && gpus.size() > 1 && !one_process.empty()) {
    Say(fmt::format("one process serves all {} GPUs: {}\n", gpus.size(), one_process));
  }
  if (options.profile.empty()) return;
  for (const Engine::Stats::Lane& lane : stats.lanes) {
    Say(fmt::format("{}: busy {:.3f} ms\n", lane.name, static_cast<double>(lane.busy_ns) / 1e6));
  }
}

}  // namespace cgraph::command
