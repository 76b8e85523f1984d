// `cgc simulate` and `cgc viz`: what shows a plan to people.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <sstream>

#include "compiler/command/commands.h"
#include "compiler/command/files.h"
#include "compiler/command/flags/compile_flags.h"
#include "compiler/command/flags/output_flags.h"
#include "compiler/command/flags/profile_flag.h"
#include "compiler/command/load_plan.h"
#include "compiler/command/report.h"
#include "compiler/cost/profile.h"
#include "compiler/cost/topology.h"
#include "compiler/inspect/draw.h"
#include "compiler/inspect/report.h"
#include "compiler/inspect/simulate.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/plan/find_graph.h"
#include "runtime/plan/prove.h"
#include "runtime/plan/trace.h"

namespace cgraph {
namespace {

// Who runs the lanes of a simulation.
struct ThreadFlags {
  uint32_t workers = 0, cores = 0;

  void Add(CLI::App& command) {
    auto* of_workers =
        command
            .add_option("--workers", workers,
                        "simulate as many threads as cgrun --workers has. Default: each lane runs "
                        "by itself")
            ->type_name("N")
            ->check(CLI::Range(1u, 1024u));
    command
        .add_option("--cores", cores, "cores that the workers share. Default: each has its own")
        ->type_name("N")
        ->check(CLI::Range(1u, 1024u))
        ->needs(of_workers);
  }
};

struct SimulateFlags {
  OutputFlags output;
  CompileFlags compile;
  ThreadFlags threads;
  std::string file, profile, trace;
  uint32_t executions = 1;
};

// Workers follow the certificate, which only a proof makes true.
Status CheckForWorkers(const plan::Plan& plan, const std::string& path, const ThreadFlags& flags) {
  if (flags.workers == 0 || !llvm::StringRef(path).endswith(".cgplan")) return Status::Ok();
  const plan::Verdict verdict = plan::Prove(plan);
  if (verdict.proved()) return Status::Ok();
  return {StatusCode::kInvalid,
          fmt::format("{}: --workers needs a proved plan, and this one is refused ({}): {}", path,
                      plan::RefusalName(verdict.refusal), verdict.message)};
}

// The graphs that --graph names, or all of them.
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

plan::GraphTrace TraceOf(uint32_t graph, const Simulation& simulation) {
  plan::GraphTrace trace{graph, {}};
  for (const SimulatedEvent& event : simulation.events) {
    trace.events.push_back({event.lane, event.instruction, event.execution, event.start,
                            event.active, event.end});
  }
  return trace;
}

ExitCode RunSimulate(const SimulateFlags& flags) {
  if (WritesOver(flags.trace, flags.file)) return kUsage;
  Result<std::optional<Profile>> profile = ReadProfile(flags.profile);
  if (!profile.ok()) return ReportStatus(profile.status());
  std::optional<cost::Topology> topology;
  plan::LoadedPlan loaded =
      LoadOrCompile(flags.file, flags.compile, flags.output, *profile, &topology);
  if (!loaded.plan) return loaded.exit_code;
  Result<std::vector<uint32_t>> graphs = ChosenGraphs(*loaded.plan, flags.compile.graphs);
  if (!graphs.ok()) return UsageError(graphs.status().message());
  WarnOfUnusedTimes(*loaded.plan, *profile, flags.profile);
  Status status = CheckForWorkers(*loaded.plan, flags.file, flags.threads);
  if (!status.ok()) return ReportStatus(status);

  llvm::json::Array results;
  std::vector<plan::GraphTrace> traces;
  ExitCode exit_code = kSuccess;
  for (uint32_t graph : *graphs) {
    const Simulation simulation =
        Simulate(*loaded.plan, graph,
                 {.profile = *profile ? &**profile : nullptr,
                  .topology = topology ? &*topology : nullptr,
                  .executions = flags.executions,
                  .workers = flags.threads.workers,
                  .cores = flags.threads.cores});
    if (simulation.hangs()) exit_code = kFailure;
    if (!flags.trace.empty()) traces.push_back(TraceOf(graph, simulation));
    if (flags.output.json) {
      results.push_back(SimulationJson(*loaded.plan, graph, simulation));
    } else {
      llvm::outs() << SimulationTable(*loaded.plan, graph, simulation);
    }
  }
  if (flags.output.json) {
    llvm::json::Value all = llvm::json::Object{{"graphs", std::move(results)}};
    llvm::outs() << llvm::formatv("{0:2}\n", all);
  }
  if (flags.trace.empty()) return exit_code;
  status = WriteText(flags.trace, plan::TraceJson(*loaded.plan, traces));
  return status.ok() ? exit_code : ReportStatus(status);
}

struct VizFlags {
  OutputFlags output;
  CompileFlags compile;
  ThreadFlags threads;
  std::string file, profile, what = "schedule", format, out;
  uint32_t executions = 1, from_row = 0;
};

// Lines of the program that is being compiled. A plan's own files are not looked for: it may come
// from anywhere and name anything.
SourceLines SourceOf(const std::string& file) {
  std::map<std::string, std::vector<std::string>> texts;
  return [file, texts](const std::string& path, uint32_t line) mutable -> std::string {
    if (path != file) return "";
    const auto [it, fresh] = texts.try_emplace(path);
    if (fresh) {
      const Result<std::string> read = ReadText(path);
      std::istringstream text(read.ok() ? *read : "");
      for (std::string each; std::getline(text, each);) it->second.push_back(each);
    }
    return line >= 1 && line <= it->second.size() ? it->second[line - 1] : "";
  };
}

// --format, or else the ending of the output: `-o x.png`.
Result<DrawFormat> FormatOf(const VizFlags& flags) {
  if (!flags.format.empty()) return *ParseFormat(flags.format);
  const llvm::StringRef ending = llvm::sys::path::extension(flags.out);
  if (ending.empty()) return DrawFormat::kSvg;
  if (std::optional<DrawFormat> format = ParseFormat(ending.drop_front())) return *format;
  return Status{StatusCode::kInvalid,
                fmt::format("no picture ends in `{}`: it may be one of {}; or say --format",
                            ending.str(), fmt::join(kDrawFormatNames, ", "))};
}

ExitCode RunViz(const VizFlags& flags) {
  if (WritesOver(flags.out, flags.file)) return kUsage;
  Result<DrawFormat> format = FormatOf(flags);
  if (!format.ok()) {
    return UsageError(format.status().message());
  }
  Result<std::optional<Profile>> profile = ReadProfile(flags.profile);
  if (!profile.ok()) return ReportStatus(profile.status());
  std::optional<cost::Topology> topology;
  plan::LoadedPlan loaded =
      LoadOrCompile(flags.file, flags.compile, flags.output, *profile, &topology);
  if (!loaded.plan) return loaded.exit_code;
  const std::string name = flags.compile.graphs.empty() ? "" : flags.compile.graphs[0];
  Result<uint32_t> graph = plan::FindGraph(*loaded.plan, name);
  if (!graph.ok()) return UsageError(graph.status().message());
  WarnOfUnusedTimes(*loaded.plan, *profile, flags.profile);
  Status status = CheckForWorkers(*loaded.plan, flags.file, flags.threads);
  if (!status.ok()) return ReportStatus(status);

  DrawOptions options;
  options.what = *ParseDrawing(flags.what);
  options.profile = *profile ? &**profile : nullptr;
  options.topology = topology ? &*topology : nullptr;
  options.executions = flags.executions;
  options.workers = flags.threads.workers;
  options.cores = flags.threads.cores;
  options.first_row = flags.from_row;
  options.format = *format;
  if (!llvm::StringRef(flags.file).endswith(".cgplan")) options.source = SourceOf(flags.file);
  Result<std::string> drawing = Draw(*loaded.plan, *graph, options);
  if (drawing.status().code() == StatusCode::kUnsupported) {  // of a format
    return UsageError(drawing.status().message());
  }
  if (!drawing.ok()) return ReportStatus(drawing.status());
  status = WriteText(flags.out, *drawing);
  return status.ok() ? kSuccess : ReportStatus(status);
}

std::vector<std::string> Names(llvm::ArrayRef<const char*> names) {
  return {names.begin(), names.end()};
}

}  // namespace

Command AddSimulateCommand(CLI::App& cgc) {
  auto flags = std::make_shared<SimulateFlags>();
  CLI::App* command = cgc.add_subcommand("simulate", "predict times without running");
  command->add_option("FILE|PLAN", flags->file, "a .cgplan, or a .cgraph to compile")->required();
  command->add_option("--executions", flags->executions, "executions submitted back to back")
      ->check(CLI::Range(1u, 100'000u))->capture_default_str();
  command
      ->add_option("--trace", flags->trace,
                   "write the timetable for chrome://tracing or Perfetto")
      ->type_name("FILE");
  flags->threads.Add(*command);
  AddProfileFlag(*command, flags->profile);
  AddOutputFlags(*command, flags->output);
  AddCompileFlags(*command, flags->compile);
  return [flags] { return RunSimulate(*flags); };
}

Command AddVizCommand(CLI::App& cgc) {
  auto flags = std::make_shared<VizFlags>();
  CLI::App* command = cgc.add_subcommand("viz", "draw a graph, its schedule, its memory");
  command->add_option("FILE|PLAN", flags->file, "a .cgplan, or a .cgraph to compile")->required();
  command->add_option("--what", flags->what, "what to draw")
      ->check(CLI::IsMember(Names(kDrawingNames)))->capture_default_str();
  command->add_option("--format", flags->format, "default: by the output's ending, else svg")
      ->check(CLI::IsMember(Names(kDrawFormatNames)));
  command->add_option("-o,--output", flags->out, "file to write; default: standard output");
  command->add_option("--executions", flags->executions, "executions in a timeline")
      ->check(CLI::Range(1u, 1000u))->capture_default_str();
  command->add_option("--from-row", flags->from_row,
                      "first row of a schedule too long for one picture");
  flags->threads.Add(*command);
  AddProfileFlag(*command, flags->profile);
  AddOutputFlags(*command, flags->output);
  AddCompileFlags(*command, flags->compile);
  return [flags] { return RunViz(*flags); };
}

}  // namespace cgraph
