// `cgc viz`: draws a graph, its schedule, its memory.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <sstream>

#include "compiler/command/commands.h"
#include "compiler/command/flags/flags.h"
#include "compiler/command/load_plan.h"
#include "compiler/command/output.h"
#include "compiler/cost/profile.h"
#include "compiler/cost/topology.h"
#include "compiler/inspect/draw.h"
#include "compiler/inspect/simulate.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Path.h"
#include "runtime/base/files.h"
#include "runtime/plan/load.h"

namespace cgraph::command {
namespace {

struct VizFlags {
  OutputFlags output;
  CompileFlags compile;
  ThreadFlags threads;
  std::string file, profile, trace, what = "schedule", format, out, color_by = "method";
  uint32_t executions = 0, from_row = 0, width = 0;  // 0: not given
};

// Returns the lines of the program that is being compiled. A plan's own files are not looked for:
// it may come from anywhere and name anything.
SourceLines SourceOf(const std::string& file) {
  std::map<std::string, std::vector<std::string>> texts;
  return [file, texts](const std::string& path, uint32_t line) mutable -> std::string {
    if (path != file) return "";
    const auto [it, fresh] = texts.try_emplace(path);
    if (fresh) {
      const Result<std::string> read = ReadText(path, kMaxTextBytes);
      std::istringstream text(read.ok() ? *read : "");
      for (std::string each; std::getline(text, each);) it->second.push_back(each);
    }
    return line >= 1 && line <= it->second.size() ? it->second[line - 1] : "";
  };
}

// Returns the format of --format, or else of the output's ending: `-o x.png`.
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
  if (flags.compile.graphs.size() > 1) return UsageError("--graph: one graph is drawn at a time");
  if (LosesFiles(flags.compile.Read({{"", flags.file}, {"--profile ", flags.profile},
                                      {"--trace ", flags.trace}}),
                 flags.compile.Written({{"-o ", flags.out}}))) {
    return kUsage;
  }
  if (!flags.trace.empty() && flags.what != kDrawingNames[static_cast<int>(Drawing::kTimeline)]) {
    return UsageError("--trace: a run is drawn as a timeline, by --what timeline");
  }
  Result<DrawFormat> format = FormatOf(flags);
  if (!format.ok()) {
    return UsageError(format.status().message());
  }
  const bool is_text = *format != DrawFormat::kPng && *format != DrawFormat::kPdf;
  if (!is_text && flags.out.empty() && llvm::outs().is_displayed()) {
    return UsageError(fmt::format("--format {}: its bytes are no text for a terminal; -o FILE "
                                  "names a file for them",
                                  flags.format));
  }
  Result<std::optional<Profile>> profile = ReadProfile(flags.profile);
  if (!profile.ok()) return ReportStatus(profile.status());
  std::optional<cost::Topology> topology;
  plan::PlanOrExit loaded =
      LoadOrCompile(flags.file, flags.compile, flags.output, *profile, &topology);
  if (!loaded.plan) return loaded.exit_code;
  const std::string name = flags.compile.graphs.empty() ? "" : flags.compile.graphs[0];
  Result<uint32_t> graph = plan::FindGraph(*loaded.plan, name);
  if (!graph.ok() && loaded.plan->graphs.empty()) {
    return ReportStatus(
        {graph.status().code(), fmt::format("{}: {}", flags.file, graph.status().message())});
  }
  if (!graph.ok()) return UsageError(graph.status().message());
  WarnOfUnfitTimes(*loaded.plan, *profile, flags.profile, flags.output);
  Status status = DealToWorkers(*loaded.plan, flags.file, flags.threads);
  if (!status.ok()) return ReportStatus(status);

  std::optional<Simulation> measured;
  if (!flags.trace.empty()) {
    Result<std::string> text = ReadText(flags.trace, kMaxTextBytes);
    if (!text.ok()) return ReportStatus(text.status());
    llvm::Expected<Simulation> run = MeasuredRun(*loaded.plan, *graph, *text, flags.executions);
    if (!run) {
      return ReportStatus({StatusCode::kInvalid, fmt::format("{}: {}", flags.trace,
                                                             llvm::toString(run.takeError()))});
    }
    measured = std::move(*run);
  }
  DrawOptions options;
  options.measured = measured ? &*measured : nullptr;
  options.what = *ParseDrawing(flags.what);
  options.profile = *profile ? &**profile : nullptr;
  options.topology = topology ? &*topology : nullptr;
  options.executions = std::max(1u, flags.executions);
  options.workers = flags.threads.workers;
  options.cores = flags.threads.cores;
  options.first_row = flags.from_row;
  options.color_by = *ParseColorBy(flags.color_by);
  options.width = flags.width;
  options.format = *format;
  if (!llvm::StringRef(flags.file).endswith(".cgplan")) options.source = SourceOf(flags.file);
  Result<std::string> drawing = Draw(*loaded.plan, *graph, options);
  if (drawing.status().code() == StatusCode::kUnsupported) {  // of a format
    return UsageError(drawing.status().message());
  }
  if (!drawing.ok()) return ReportStatus(drawing.status());
  status = WriteOutput(flags.out, *drawing);
  return status.ok() ? kSuccess : ReportStatus(status);
}

std::vector<std::string> Names(llvm::ArrayRef<const char*> names) {
  return {names.begin(), names.end()};
}

}  // namespace

Command AddVizCommand(CLI::App& cgc) {
  auto flags = std::make_shared<VizFlags>();
  CLI::App* command = cgc.add_subcommand("viz", "draw a graph, its schedule, its memory");
  command->add_option("FILE|PLAN", flags->file, "a .cgplan, or a .cgraph to compile")->required();
  command->add_option("--what", flags->what, "what to draw")
      ->check(CLI::IsMember(Names(kDrawingNames)))->capture_default_str();
  command->add_option("--format", flags->format, "default: by the output's ending, else svg")
      ->check(CLI::IsMember(Names(kDrawFormatNames)));
  command->add_option("-o,--output", flags->out, "file to write; default: standard output");
  command->add_option("--executions", flags->executions,
                      "executions in a timeline, the first; default: 1, of a --trace all")
      ->check(CLI::Range(1u, 1000u));
  command->add_option("--from-row", flags->from_row,
                      "first row of a schedule too long for one picture");
  command->add_option("--color-by", flags->color_by,
                      "what a colour stands for; a micro-batch is a part of the inputs")
      ->check(CLI::IsMember(Names(kColorByNames)))->capture_default_str();
  command->add_option("--width", flags->width,
                      "of the picture, in pixels: 1600 fits a slide; default: what names need")
      ->check(CLI::Range(200u, 20000u));
  AddThreadFlags(*command, flags->threads);
  AddProfileFlag(*command, flags->profile);
  command->add_option("--trace", flags->trace,
                      "draw the timeline of this run, which cgrun --trace wrote, instead of a "
                      "simulation")
      ->option_text("FILE");
  AddOutputFlags(*command, flags->output);
  AddWerrorFlag(*command, flags->output);
  AddCompileFlags(*command, flags->compile);
  command->get_option("--graph")->description("graph to draw; needed when there are several")
      ->option_text("NAME");
  return [flags] {
    flags->compile.workers = flags->threads.workers;
    return RunViz(*flags);
  };
}

}  // namespace cgraph::command
