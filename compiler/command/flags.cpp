#include "compiler/command/flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "compiler/base/diagnostics/json.h"
#include "compiler/base/limits.h"
#include "runtime/status/read_file.h"
#include "compiler/command/topology_flag.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/plan/check.h"
#include "runtime/plan/device_map.h"
#include "runtime/plan/load.h"
#include "runtime/status/spelling.h"

namespace cgraph {
namespace {

constexpr int64_t kMaxTextBytes = int64_t{1} << 30;  // of a plan as JSON; other texts are small

Status Wrong(std::string message) { return {StatusCode::kInvalid, std::move(message)}; }

std::string PhaseNames() {
  std::string names;
#define X(id, name) names += (names.empty() ? "" : ", ") + std::string(name);
  CGRAPH_PHASES(X)
#undef X
  return names;
}

std::string RewriteNames() {
  std::string names;
  for (const RewriteInfo& info : Rewrites()) {
    names += (names.empty() ? "" : ", ") + std::string(info.name);
  }
  return names;
}

}  // namespace

bool OutputFlags::use_color() const {
  if (color == "always") return true;
  if (color == "never") return false;
  return llvm::sys::Process::StandardErrIsDisplayed();
}

void AddOutputFlags(CLI::App& command, OutputFlags& flags) {
  command.add_flag("--json", flags.json, "machine-readable result on standard output");
  command.add_flag("-q,--quiet", flags.quiet, "errors only");
  command.add_flag("-v,--verbose", flags.verbose, "say more");
  command.add_option("--color", flags.color, "colours in messages")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  command.add_option("--max-errors", flags.max_errors, "errors to print; 0: all")
      ->check(CLI::Range(size_t{0}, size_t{1} << 40))
      ->capture_default_str();
  command.add_flag("--Werror", flags.warnings_are_errors, "treat warnings as errors");
}

void AddCompileFlags(CLI::App& command, CompileFlags& flags) {
  const size_t others = command.get_options().size();
  // Each takes one value at a time, so that FILE may follow.
  command.add_option("--graph", flags.graphs, "graph to use (repeatable); default: all")
      ->type_name("NAME")->allow_extra_args(false);
  command.add_option("-D", flags.defines, "value of a const of the file")
      ->type_name("NAME=VALUE")->allow_extra_args(false);
  command.add_option("-I", flags.import_dirs, "folder that imports are looked up in")
      ->type_name("DIR")->allow_extra_args(false);
  auto* overlap = command.add_flag("--overlap", flags.overlap,
                                   "communication has lanes of its own (the default)");
  command.add_flag("--no-overlap", flags.no_overlap, "communication stands in the compute lane")
      ->excludes(overlap);
  command.add_option("--lanes", flags.lanes,
                     "lanes in which a device exchanges values: one, one for each peer, or one for "
                     "each edge; default: the fewest that make nothing later")
      ->type_name("one|peer|edge")->check(CLI::IsMember({"one", "peer", "edge"}));
  command.add_option("--inflight", flags.inflight, "executions that may be in progress at once")
      ->type_name("N")->check(CLI::Range(int64_t{1}, kMaxInflight));
  command.add_option("--schedule", flags.schedule,
                     "instead of what the graphs say: program (program order), auto, or a schedule "
                     "with its arguments")
      ->type_name("NAME(ARGS)");
  command.add_option("--effort", flags.effort, "how long `auto` looks for an order; default: 2000")
      ->type_name("N")->check(CLI::Range(1u, 1'000'000'000u));
  command.add_option("--topology", flags.topology,
                     "the machine to schedule for: one of the library or of FILE, with its "
                     "arguments, or a file that declares one")
      ->type_name("NAME|FILE");
  command.add_option("--device-map", flags.device_map,
                     "the core of each logical device: gpu[0]=cpu:0,gpu[1]=cpu:1")
      ->type_name("MAP");
  command.add_flag("--no-rewrite{all}", flags.no_rewrite,
                   "=NAME: without this rewrite, of " + RewriteNames() + "; alone: without any");
  command.add_option("--emit", flags.emit,
                     "print a phase's result: " + PhaseNames() +
                         "; schedule=FILE.csv, transports=FILE.csv: a pipeline's order")
      ->type_name("PHASE[=FILE]")->allow_extra_args(false);
  command.add_option("--stop-after", flags.stop_after, "end after this phase")->type_name("PHASE");
  command.add_flag("--time-phases", flags.time_phases, "print how long each phase took");
  const std::vector<CLI::Option*> all = command.get_options();
  std::copy_if(all.begin() + others, all.end(), std::back_inserter(flags.of_sources),
               [](const CLI::Option* option) {
                 return !option->check_name("--graph") && !option->check_name("--topology");
               });
}

Result<CompileOptions> CompileFlags::Options(const std::string& path) const {
  CompileOptions options;
  for (const std::string& name : no_rewrite) {
    const auto known =
        llvm::find_if(Rewrites(), [&](const RewriteInfo& info) { return info.name == name; });
    if (name != "all" && known == Rewrites().end()) {
      return Wrong(fmt::format("--no-rewrite {}: the rewrites are {}", name, RewriteNames()));
    }
  }
  options.no_rewrite = no_rewrite;
  options.path = path;
  options.graphs = graphs;
  options.import_dirs = import_dirs;
  options.inflight = inflight;
  options.schedule = schedule;
  for (const CommLanes each : {CommLanes::kOne, CommLanes::kPeer, CommLanes::kEdge}) {
    if (lanes == CommLanesName(each)) options.lanes = each;
  }
  options.effort = effort;
  options.machine = topology;
  options.time_phases = time_phases;
  options.device_map = device_map;
  if (overlap) options.overlap = true;
  if (no_overlap) options.overlap = false;
  for (const std::string& define : defines) {
    auto [name, value] = llvm::StringRef(define).split('=');
    if (name.empty() || value.empty()) {
      return Wrong(fmt::format("-D {}: a definition is NAME=VALUE, such as -D B=128", define));
    }
    if (!llvm::json::isUTF8(define)) {
      return Wrong(fmt::format("-D {}: a value is UTF-8 text", llvm::json::fixUTF8(define)));
    }
    options.defines[name.str()] = value.str();
  }
  for (const std::string& text : emit) {
    auto [name, file] = llvm::StringRef(text).split('=');
    const std::optional<Phase> phase = ParsePhase(name);
    if (!phase) {
      return Wrong(fmt::format("--emit {}: the phases are {}", name.str(), PhaseNames()));
    }
    options.emit.emplace_back(*phase, file.str());
  }
  if (!stop_after.empty()) {
    options.stop_after = ParsePhase(stop_after);
    if (!options.stop_after) {
      return Wrong(fmt::format("--stop-after {}: the phases are {}", stop_after, PhaseNames()));
    }
  }
  return options;
}

Compilation CompileAndReport(const CompileOptions& options, const OutputFlags& output,
                             llvm::json::OStream* json) {
  Sources sources;
  Diagnostics diagnostics(sources);
  diagnostics.set_warnings_are_errors(output.warnings_are_errors);
  Compilation done = Compile(options, sources, diagnostics);
  if (done.plan && !options.device_map.empty()) {
    // The plan may run on another machine, so any number of cores is believed.
    if (Status mapped = plan::MapDevices(*done.plan, options.device_map, /*cores=*/0);
        !mapped.ok()) {
      (void)ReportStatus(mapped);
      done = {kUsage, nullptr, {}};
    }
  }
  if (json != nullptr) {
    WriteJson(diagnostics, *json);
  } else if (!output.quiet || diagnostics.has_errors()) {
    diagnostics.Print(llvm::errs(), output.use_color(), output.max_errors);
  }
  return done;
}

plan::LoadedPlan LoadOrCompile(const std::string& path, const CompileFlags& flags,
                               const OutputFlags& output,
                               const std::optional<Profile>& profile,
                               std::optional<cost::Topology>* topology) {
  if (llvm::StringRef(path).endswith(".cgplan")) {
    const auto given = llvm::find_if(flags.of_sources,
                                     [](const CLI::Option* option) { return option->count() > 0; });
    if (given != flags.of_sources.end()) {
      return {nullptr, UsageError(fmt::format("{} needs a .cgraph: a plan is already compiled",
                                              (*given)->get_name()))};
    }
    Result<std::unique_ptr<plan::Plan>> loaded = plan::ReadFile(path);
    if (!loaded.ok()) return {nullptr, ReportStatus(loaded.status())};
    if (Status status = plan::CheckPlan(**loaded); !status.ok()) {
      return {nullptr,
              ReportStatus({status.code(), fmt::format("{}: {}", path, status.message())})};
    }
    if (topology != nullptr && !flags.topology.empty()) {
      const ExitCode exit_code = ReadTopology(flags, output, **loaded, *topology);
      if (exit_code != kSuccess) return {nullptr, exit_code};
    }
    return {std::move(*loaded)};
  }
  Result<CompileOptions> options = flags.Options(path);
  if (!options.ok()) return {nullptr, UsageError(options.status().message())};
  options->profile = profile;
  // --json belongs to the command's own result.
  Compilation done = CompileAndReport(*options, output, nullptr);
  if (topology != nullptr) *topology = std::move(done.topology);
  return {std::move(done.plan), done.exit_code};
}

ExitCode ReportStatus(const Status& status) {
  const bool bug = status.code() == StatusCode::kInternal;
  llvm::errs() << (bug ? "cgc: internal error: " : "cgc: error: ") << status.message() << "\n";
  if (bug) llvm::errs() << kReportBug;
  return ExitCodeOf(status.code());
}

ExitCode UsageError(const std::string& message) {
  llvm::errs() << "cgc: error: " << message << "\n";
  return kUsage;
}

bool WritesOver(const std::string& out, const std::string& in) {
  if (!llvm::sys::fs::equivalent(out, in)) return false;
  UsageError("-o " + out + " is the file that is read; name another one");
  return true;
}

Status WriteText(const std::string& path, const std::string& text) {
  if (path.empty() || path == "-") {
    llvm::outs() << text;
    return Status::Ok();
  }
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) return {StatusCode::kNotFound, fmt::format("cannot write {}", path)};
  return Status::Ok();
}

Result<std::string> ReadText(const std::string& path) {
  std::string text;
  if (const std::error_code error = ReadFile(path, kMaxTextBytes, text)) {
    return Status{StatusCode::kNotFound, fmt::format("cannot read {}: {}", path, error.message())};
  }
  if (text.size() <= kMaxTextBytes) return text;
  return Status{StatusCode::kInvalid,
                fmt::format("{} has more than {} bytes", path, kMaxTextBytes)};
}

Result<uint32_t> FindGraph(const plan::Plan& plan, const std::string& name) {
  if (name.empty() && plan.graphs.size() == 1) return uint32_t{0};
  std::vector<std::string> names;
  for (uint32_t i = 0; i < plan.graphs.size(); ++i) {
    if (plan.graphs[i]->name == name) return i;
    names.push_back(plan.graphs[i]->name);
  }
  const std::string all = fmt::format("{}", fmt::join(names, ", "));
  if (plan.graphs.empty()) return Wrong("the plan has no graph");
  if (name.empty()) return Wrong("there are several graphs: choose one with --graph: " + all);
  return Wrong(fmt::format("--graph {}: there is no such graph{}; there are: {}", name,
                           DidYouMeanHint(name, names), all));
}

}  // namespace cgraph
