// `cgc simulate`: predicts the times of a plan.
#include <memory>
#include <utility>

#include "compiler/command/commands.h"
#include "compiler/command/flags/flags.h"
#include "compiler/command/load_plan.h"
#include "compiler/command/output.h"
#include "compiler/cost/profile.h"
#include "compiler/cost/topology.h"
#include "compiler/inspect/simulate.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/base/text.h"
#include "runtime/plan/load.h"
#include "runtime/plan/trace.h"

namespace cgraph::command {
namespace {

struct SimulateFlags {
  OutputFlags output;
  CompileFlags compile;
  ThreadFlags threads;
  std::string file, profile, trace;
  uint32_t executions = 1;
};

// Returns the graphs that --graph names, or all of them.
Result<std::vector<uint32_t>> ChosenGraphs(const plan::Plan& plan,
                                           const std::vector<std::string>& names) {
  std::vector<uint32_t> chosen;
  for (const std::string& name : names) {
    Result<uint32_t> found = plan::FindGraph(plan, name);
    if (!found.ok()) return found.status();
    chosen.push_back(*found);
  }
  if (names.empty()) {
    for (uint32_t i = 0; i < plan.graphs.size(); ++i) chosen.push_back(i);
  }
  return chosen;
}

ExitCode RunSimulate(const SimulateFlags& flags) {
  if (LosesFiles(flags.compile.Read({{"", flags.file}, {"--profile ", flags.profile}}),
                 flags.compile.Written({{"--trace ", flags.trace}}))) {
    return kUsage;
  }
  Result<std::optional<Profile>> profile = ReadProfile(flags.profile);
  if (!profile.ok()) return ReportStatus(profile.status());
  std::optional<cost::Topology> topology;
  plan::PlanOrExit loaded =
      LoadOrCompile(flags.file, flags.compile, flags.output, *profile, &topology);
  if (!loaded.plan) return loaded.exit_code;
  Result<std::vector<uint32_t>> graphs = ChosenGraphs(*loaded.plan, flags.compile.graphs);
  if (!graphs.ok()) return UsageError(graphs.status().message());
  WarnOfUnfitTimes(*loaded.plan, *profile, flags.profile, flags.output);
  Status status = DealToWorkers(*loaded.plan, flags.file, flags.threads);
  if (!status.ok()) return ReportStatus(status);

  llvm::json::Array results;
  std::vector<plan::GraphTrace> traces;
  ExitCode exit_code = kSuccess;
  const std::string machine = topology ? topology->name : loaded.plan->topology;
  const std::vector<std::string> costless =
      MethodsWithoutCost(*loaded.plan, *graphs, *profile ? &**profile : nullptr);
  if (!flags.output.json) {
    llvm::outs() << Printable(MachineText(*loaded.plan, topology ? &*topology : nullptr) +
                              CostlessText(costless));
  }
  for (uint32_t graph : *graphs) {
    Simulation simulation =
        Simulate(*loaded.plan, graph,
                 {.profile = *profile ? &**profile : nullptr,
                  .topology = topology ? &*topology : nullptr,
                  .executions = flags.executions,
                  .workers = flags.threads.workers,
                  .cores = flags.threads.cores});
    if (simulation.deadlocks()) exit_code = kFailure;
    if (flags.output.json) {
      results.push_back(SimulationJson(*loaded.plan, graph, simulation));
    } else {
      llvm::outs() << Printable(SimulationTable(*loaded.plan, graph, simulation));
    }
    if (!flags.trace.empty()) traces.push_back({graph, std::move(simulation.events)});
  }
  if (flags.output.json) {
    llvm::json::Value all =
        llvm::json::Object{{"machine", machine},
                           {"methods_without_cost", llvm::json::Array(costless)},
                           {"graphs", std::move(results)}};
    PrintJson(all);
  }
  if (flags.trace.empty()) return exit_code;
  status =
      WriteOutput(flags.trace, plan::TraceJson(*loaded.plan, traces, plan::TraceTimes::kSimulated));
  return status.ok() ? exit_code : ReportStatus(status);
}

}  // namespace

Command AddSimulateCommand(CLI::App& cgc) {
  auto flags = std::make_shared<SimulateFlags>();
  CLI::App* command = cgc.add_subcommand("simulate", "predict times without running");
  command->add_option("FILE|PLAN", flags->file, "a .cgplan, or a .cgraph to compile")->required();
  command
      ->add_option("--executions", flags->executions,
                   "executions submitted back to back, or rounds")
      ->check(CLI::Range(1u, 100'000u))->capture_default_str();
  command
      ->add_option("--trace", flags->trace,
                   "write the timetable for chrome://tracing or Perfetto")
      ->type_name("FILE");
  AddThreadFlags(*command, flags->threads);
  AddProfileFlag(*command, flags->profile);
  AddOutputFlags(*command, flags->output);
  AddWerrorFlag(*command, flags->output);
  AddCompileFlags(*command, flags->compile);
  return [flags] {
    flags->compile.workers = flags->threads.workers;
    return RunSimulate(*flags);
  };
}

}  // namespace cgraph::command
