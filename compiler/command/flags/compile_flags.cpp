#include "compiler/command/flags/flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "compiler/base/limits.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

namespace cgraph::command {
namespace {

Status Wrong(std::string message) { return {StatusCode::kInvalid, std::move(message)}; }

std::string PhaseNames() {
  std::string names;
#define X(id, name) names += (names.empty() ? "" : ", ") + std::string(name);
  CGRAPH_PHASES(X)
#undef X
  return names;
}

std::string EmitKindNames() {
  std::string names;
#define X(id, name, phase) names += (names.empty() ? "" : ", ") + std::string(name);
  CGRAPH_EMIT_KINDS(X)
#undef X
  return names;
}

// --emit KIND[=FILE]
Result<Emission> ReadEmission(llvm::StringRef text) {
  const auto [name, file] = text.split('=');
  const std::optional<EmitKind> kind = ParseEmitKind(name);
  if (!kind) {
    return Wrong(fmt::format("--emit {}: there are {}", name.str(), EmitKindNames()));
  }
  const bool has_csv = kind == EmitKind::kSchedule || kind == EmitKind::kTransports;
  if (has_csv && file.endswith(".csv")) {
    return Wrong(fmt::format("--emit {0}={1} would write text for people; a pipeline's order as "
                             "CSV is --emit {0}-csv={1}",
                             name.str(), file.str()));
  }
  return Emission{*kind, file.str()};
}

std::string RewriteNames() {
  std::string names;
  for (const RewriteInfo& info : Rewrites()) {
    names += (names.empty() ? "" : ", ") + std::string(info.name);
  }
  return names;
}

}  // namespace

void AddCompileFlags(CLI::App& command, CompileFlags& flags) {
  const size_t others = command.get_options().size();
  // Each flag takes one value at a time, so that FILE may follow.
  command.add_option("--graph", flags.graphs, "graph to use (repeatable); default: all")
      ->type_name("NAME")->allow_extra_args(false);
  command.add_option("-D", flags.defines,
                     "value of a const of the file, dtype of a name for one, or module of an alias")
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
      ->type_name(fmt::format("{}", fmt::join(kCommLanesNames, "|")))
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(kCommLanesNames),
                                                     std::end(kCommLanesNames))));
  command.add_option("--inflight", flags.inflight, "executions that may be in progress at once")
      ->type_name("N")->check(CLI::Range(int64_t{1}, kMaxInflight));
  command.add_option("--schedule", flags.schedule,
                     "instead of what the graphs say: program (program order), reversed (its "
                     "opposite, as far as calls may be exchanged), auto, or a schedule "
                     "with its arguments")
      ->type_name("NAME(ARGS)");
  command.add_option("--effort", flags.effort, "how long `auto` looks for an order; default: 2000")
      ->type_name("N")->check(CLI::Range(1u, 1'000'000'000u));
  command.add_option("--topology", flags.topology,
                     "the machine to schedule for: one of the library or of FILE, with its "
                     "arguments, or a file that declares one")
      ->type_name("NAME|FILE");
  command.add_option("--device-map", flags.device_maps,
                     "the core or GPU of each logical device: gpu[0]=cpu:0,gpu[1]=cuda:1, or "
                     "gpu[*]=cuda:0; several add up")
      ->type_name("MAP")->take_all()->allow_extra_args(false);
  command.add_flag("--no-rewrite{all}", flags.no_rewrite,
                   "=NAME: without this rewrite, of " + RewriteNames() + "; alone: without any");
  command.add_option("--emit", flags.emit,
                     "print what a phase made: " + EmitKindNames() +
                         " (the -csv ones: a pipeline's order)")
      ->type_name("KIND[=FILE]")->allow_extra_args(false);
  command.add_option("--stop-after", flags.stop_after, "end after this phase")->type_name("PHASE");
  command.add_flag("--time-phases", flags.time_phases, "print how long each phase took");
  const std::vector<CLI::Option*> all = command.get_options();
  std::copy_if(all.begin() + others, all.end(), std::back_inserter(flags.of_sources),
               [](const CLI::Option* option) {
                 return !option->check_name("--graph") && !option->check_name("--topology");
               });
}

std::vector<NamedFile> CompileFlags::Read(std::vector<NamedFile> others) const {
  if (llvm::StringRef(topology).endswith(".cgraph")) others.push_back({"--topology ", topology});
  return others;
}

std::vector<NamedFile> CompileFlags::Written(std::vector<NamedFile> others) const {
  for (const std::string& text : emit) {
    const auto [kind, file] = llvm::StringRef(text).split('=');
    others.push_back({fmt::format("--emit {}=", kind.str()), file.str()});
  }
  return others;
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
  options.workers = workers;
  options.schedule = schedule;
  options.lanes = ParseCommLanes(lanes);
  options.effort = effort;
  options.machine = topology;
  options.time_phases = time_phases;
  options.device_map = fmt::format("{}", fmt::join(device_maps, ","));
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
    Result<Emission> emission = ReadEmission(text);
    if (!emission.ok()) return emission.status();
    options.emit.push_back(*std::move(emission));
  }
  if (!stop_after.empty()) {
    options.stop_after = ParsePhase(stop_after);
    if (!options.stop_after) {
      return Wrong(fmt::format("--stop-after {}: the phases are {}", stop_after, PhaseNames()));
    }
  }
  return options;
}

}  // namespace cgraph::command
