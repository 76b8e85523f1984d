#include "runtime/command/outcome/conclude.h"

#include <cstdio>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/command/messages.h"
#include "runtime/plan/trace.h"
#include "runtime/status/text.h"
#include "runtime/status/text_file.h"

namespace cgraph::command {
namespace {

std::string ProfileText(const Engine& engine) {
  nlohmann::ordered_json calls = nlohmann::ordered_json::object();
  for (const auto& [name, ns] : engine.Profile()) calls[name] = ns;
  const nlohmann::ordered_json profile = {{"unit", "ns"}, {"calls", calls}};
  return profile.dump(2) + '\n';
}

}  // namespace

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
    for (const auto& [message, failure] : measured.failures) {
      const std::string which =
          failure.count == 1
              ? fmt::format("execution {} of {}", failure.first, measured.executions)
              : fmt::format("{} of {}, the first is number {}", failure.count,
                            Counted(measured.executions, "execution"), failure.first);
      code = Report(options, kFailure, fmt::format("{}\nin {}", message, which));
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

void SayStats(const Engine& engine, const Options& options) {
  const Engine::Stats stats = engine.GetStats();
  Say(fmt::format("{}, {} bytes of arenas, {} after the start\n", Counted(stats.workers, "worker"),
                  stats.arena_bytes, Counted(stats.allocations, "allocation")));
  if (options.profile.empty()) return;
  for (const Engine::Stats::Lane& lane : stats.lanes) {
    Say(fmt::format("{}: busy {:.3f} ms\n", lane.name, static_cast<double>(lane.busy_ns) / 1e6));
  }
}

Status WriteMeasurements(const Engine& engine, uint32_t graph, const Options& options) {
  if (!options.profile.empty()) {
    CGRAPH_RETURN_IF_ERROR(WriteText(options.profile, ProfileText(engine)));
  }
  if (options.trace.empty()) return Status::Ok();
  return WriteText(options.trace, plan::TraceJson(engine.plan(), {engine.Trace(graph)}));
}

}  // namespace cgraph::command
