#include "compiler/driver/compile.h"

#include <chrono>
#include <utility>

#include "compiler/base/check.h"
#include "compiler/base/limits.h"
#include "compiler/check/check.h"
#include "compiler/driver/library_dir.h"
#include "compiler/driver/plan_limits.h"
#include "compiler/elaborate/elaborate.h"
#include "compiler/emit/emit.h"
#include "compiler/graph/fuse/update_state_in_place.h"
#include "compiler/graph/fuse/fuse.h"
#include "compiler/graph/fuse/hoist_checks.h"
#include "compiler/graph/print.h"
#include "compiler/graph/rewrite/print.h"
#include "compiler/graph/validate.h"
#include "compiler/pipeline/order_of.h"
#include "compiler/program/print.h"
#include "compiler/program/validate.h"
#include "compiler/schedule/print.h"
#include "compiler/schedule/schedule.h"
#include "compiler/syntax/parse.h"
#include "compiler/syntax/print.h"
#include "compiler/syntax/validate.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/plan/print.h"
#include "runtime/plan/prove.h"
#include "runtime/plan/workers/partition.h"
#include "runtime/status/read_file.h"
#include "runtime/status/status.h"
#include "runtime/status/text_file.h"

namespace cgraph {
namespace {

// Prints how long each phase took, when asked.
class PhaseClock {
 public:
  explicit PhaseClock(bool print) : print_(print), start_(std::chrono::steady_clock::now()) {}
  void Done(const char* phase) {
    const auto now = std::chrono::steady_clock::now();
    if (print_) {
      const double ms = std::chrono::duration<double, std::milli>(now - start_).count();
      llvm::errs() << llvm::formatv("{0,-10} {1,9:f3} ms\n", phase, ms);
    }
    start_ = now;
  }

 private:
  bool print_;
  std::chrono::steady_clock::time_point start_;
};

// The named file as source 0 of the compilation.
std::optional<SourceId> ReadMain(const std::string& path, Sources& sources,
                                 Diagnostics& diagnostics) {
  std::string text;
  if (const std::error_code error = ReadFile(path, kMaxSourceBytes, text)) {
    diagnostics.Report(Code::kE0101, {}, "cannot read " + path + ": " + error.message());
    return std::nullopt;
  }
  return sources.Add(path, std::move(text));
}

// Whether scheduling can find a fault of the program: rules that can never be kept.
bool HasRules(const graph::Module& module) {
  return llvm::any_of(module.graphs, [](const graph::Graph& graph) {
    return graph.rules && !graph.rules->automatic;
  });
}

ScheduleOptions ScheduleOptionsOf(const CompileOptions& options,
                                  const cost::Topology* topology) {
  ScheduleOptions made{.overlap = options.overlap};
  if (options.profile) made.profile = &*options.profile;
  if (options.effort) made.search.effort = *options.effort;
  made.search.goal = options.goal;
  made.lanes = options.lanes;
  made.topology = topology;
  made.memory = options.memory;
  return made;
}

RewriteOptions RewriteOptionsOf(const CompileOptions& options, const cost::Topology* topology) {
  return {.off = options.no_rewrite,
          .topology = topology,
          .profile = options.profile ? &*options.profile : nullptr,
          .one_lane = options.lanes.value_or(CommLanes::kOne) == CommLanes::kOne,
          .memory_is_limited = options.memory.has_value()};
}

// Whether all that is wrong is what flags say: errors about no place of the program, in the text of
// --schedule or --topology, or about the const that -D gives a value of another kind.
bool OnlyOfFlags(const Diagnostics& diagnostics) {
  return llvm::all_of(diagnostics.all(), [&](const Diagnostic& diagnostic) {
    if (diagnostic.severity == Severity::kWarning || !diagnostic.range.valid()) return true;
    const Source& source = diagnostics.sources()[diagnostic.range.source];
    return diagnostic.code == Code::kE0502 || source.kind == SourceKind::kFlag;
  });
}

// Whether --emit asks for the order of a pipeline, in PyTorch's form: schedule=FILE.csv is what is
// called, transports=FILE.csv what travels between, too.
bool IsOrder(Phase phase, llvm::StringRef file) {
  return (phase == Phase::kSchedule || phase == Phase::kTransports) && file.endswith(".csv");
}

std::vector<NamedFile> FilesOf(const Sources& sources) {
  std::vector<NamedFile> files;
  for (uint32_t i = 0; i < sources.size(); ++i) files.push_back({"", sources[SourceId(i)].path});
  return files;
}

using Schedules = std::vector<schedule::Schedule>;  // of the start graph, then of each graph

// One compilation on its way through the phases.
class Phases {
 public:
  Phases(const CompileOptions& options, Sources& sources, Diagnostics& diagnostics)
      : options_(options), sources_(sources), diagnostics_(diagnostics),
        clock_(options.time_phases) {}

  Compilation Run();

 private:
  // Prints a phase's result wherever --emit asks for it. False ends the compilation: it found
  // errors, could not write, or was to stop here.
  template <typename PrintFunction>
  bool Finish(Phase phase, PrintFunction print);
  bool Write(const std::string& file, const std::string& text);  // false: could not, and said so
  bool WriteOrders(const graph::Module& module, const Schedules& schedules);
  // By which the program is rewritten and scheduled; null: the assumed one.
  const cost::Topology* TopologyOf() const {
    if (options_.topology != nullptr) return options_.topology;
    return result_.topology ? &*result_.topology : nullptr;
  }
  // Whether nothing is asked but whether the program is right, and no later phase can find that it
  // is not, nor print what it made.
  bool IsChecked(const graph::Module& module) const {
    return options_.check_only && options_.emit.empty() && !diagnostics_.has_errors() &&
           !HasRules(module) && !result_.topology;
  }
  void Prove();

  // Each is some of the phases, in their order; without a result the compilation ends.
  std::optional<program::Program> ReadSources();
  std::optional<graph::Module> MakeGraph(const program::Program& program);
  std::optional<Schedules> MakeSchedules(const graph::Module& module);
  void EmitAndProve(const graph::Module& module, const Schedules& schedules);

  const CompileOptions& options_;
  Sources& sources_;
  Diagnostics& diagnostics_;
  PhaseClock clock_;
  Compilation result_;
};

bool Phases::Write(const std::string& file, const std::string& text) {
  const NamedFile emitted[] = {{"--emit ", file}};
  if (const std::string lost = Overwriting(FilesOf(sources_), emitted); !lost.empty()) {
    llvm::errs() << "cgc: error: " << lost << "\n";
    result_.exit_code = kUsage;
    return false;
  }
  const Status written = WriteText(file, text);
  if (written.ok()) return true;
  llvm::errs() << "cgc: error: " << written.message() << "\n";
  result_.exit_code = ExitCodeOf(written.code());
  return false;
}

template <typename PrintFunction>
bool Phases::Finish(Phase phase, PrintFunction print) {
  for (const auto& [wanted, file] : options_.emit) {
    if (wanted != phase || IsOrder(wanted, file)) continue;
    if (file.empty() || file == "-") {
      print(llvm::outs());
      continue;
    }
    std::string text;
    llvm::raw_string_ostream out(text);
    print(out);
    if (!Write(file, text)) return false;
  }
  if (diagnostics_.has_errors()) {
    result_.exit_code = OnlyOfFlags(diagnostics_) ? kUsage : kFailure;
    return false;
  }
  return options_.stop_after != phase;
}

// False: some order that --emit asks for cannot be written.
bool Phases::WriteOrders(const graph::Module& module, const Schedules& schedules) {
  for (const auto& [phase, file] : options_.emit) {
    if (!IsOrder(phase, file) || diagnostics_.has_errors()) continue;
    Result<pipeline::Order> order =
        module.graphs.size() == 1
            ? pipeline::OrderOf(module, module.graphs[0], schedules[1], phase == Phase::kTransports)
            : Status(StatusCode::kInvalid, "a CSV is of one graph: choose it with --graph");
    if (!order.ok()) {
      llvm::errs() << "cgc: error: " << file << ": " << order.status().message() << "\n";
      result_.exit_code = kFailure;
      return false;
    }
    if (!Write(file, pipeline::WriteOrder(*order))) return false;
  }
  return true;
}

void Phases::Prove() {
  const plan::Verdict verdict = plan::Prove(*result_.plan);
  clock_.Done("prove");
  if (verdict.refusal == plan::Refusal::kTooLarge) {
    llvm::errs() << "cgc: error: " << options_.path << ": " << verdict.message << "\n";
    result_.exit_code = kFailure;
    return;
  }
  // Every other plan that is made must prove: a refusal is our bug, and the plan is not written.
  CGRAPH_CHECK(verdict.proved(), "prove", options_.path + ": " + verdict.message);
}

std::optional<program::Program> Phases::ReadSources() {
  const std::optional<SourceId> main = ReadMain(options_.path, sources_, diagnostics_);
  if (!main) {
    result_.exit_code = kEnvironment;
    return std::nullopt;
  }
  if (llvm::StringRef(options_.machine).endswith(".cgraph") &&
      !llvm::sys::fs::exists(options_.machine)) {
    diagnostics_.Report(Code::kE0101, {}, "cannot find the topology's file " + options_.machine);
    result_.exit_code = kEnvironment;
    return std::nullopt;
  }
  syntax::File file = Parse(*main, diagnostics_);
  clock_.Done("parse");
  Validate(file);
  if (!Finish(Phase::kSyntax, [&](auto& out) { Print(file, out); })) return std::nullopt;

  program::Program program = Check(
      std::move(file), sources_, {.import_dirs = options_.import_dirs,
       .library_dir = LibraryDir(),
       .schedule = options_.schedule,
       .topology = options_.machine},
      diagnostics_);
  result_.read = FilesOf(sources_);
  clock_.Done("check");
  if (!diagnostics_.has_errors()) Validate(program);
  if (!Finish(Phase::kProgram, [&](auto& out) { Print(program, out); })) return std::nullopt;
  return program;
}

std::optional<graph::Module> Phases::MakeGraph(const program::Program& program) {
  if (program.topology) {
    result_.topology =
        ElaborateTopology(program, {.defines = options_.defines, .limits = options_.limits},
                          diagnostics_);
  }
  graph::Module module = Elaborate(program,
                                   {.defines = options_.defines,
                                    .graphs = options_.graphs,
                                    .inflight = options_.inflight,
                                    .limits = options_.limits},
                                   diagnostics_);
  if (!diagnostics_.has_errors()) CheckSizes(module, diagnostics_);
  clock_.Done("elaborate");
  if (IsChecked(module)) return std::nullopt;
  if (!diagnostics_.has_errors()) {
    Validate(module, "elaborate");
    result_.rewritten = Rewrite(module, RewriteOptionsOf(options_, TopologyOf()));
    clock_.Done("rewrite");
    Validate(module, "rewrite");
    HoistChecks(module);
    Fuse(module);
    UpdateStateInPlace(module);
    Validate(module, "fuse");
    clock_.Done("fuse");
  }
  const auto print = [&](auto& out) {
    PrintRewrites(result_.rewritten, sources_, out);
    Print(module, out);
  };
  if (!Finish(Phase::kGraph, print)) return std::nullopt;
  return module;
}

std::optional<Schedules> Phases::MakeSchedules(const graph::Module& module) {
  Schedules schedules =
      ScheduleModule(module, ScheduleOptionsOf(options_, TopologyOf()), diagnostics_);
  clock_.Done("schedule");
  if (options_.check_only) {
    if (diagnostics_.has_errors()) result_.exit_code = kFailure;
    return std::nullopt;
  }
  if (!WriteOrders(module, schedules)) return std::nullopt;
  if (!Finish(Phase::kTransports,
              [&](auto& out) { PrintTransports(module, schedules, &sources_, out); }) ||
      !Finish(Phase::kSchedule,
              [&](auto& out) { PrintSchedule(module, schedules, &sources_, out); })) {
    return std::nullopt;
  }
  return schedules;
}

void Phases::EmitAndProve(const graph::Module& module, const Schedules& schedules) {
  result_.plan = Emit(module, schedules,
                      {.sources = &sources_,
                       .compiler = "cgc " CGRAPH_VERSION,
                       .topology = result_.topology ? result_.topology->name : ""});
  CheckArenas(module, *result_.plan, diagnostics_);
  clock_.Done("emit");
  if (diagnostics_.has_errors()) result_.exit_code = kFailure;
  if (options_.workers > 0) {
    plan::Partition(*result_.plan, {.workers = options_.workers, .hop = plan::kHop});
  }
  if (result_.exit_code == kSuccess) Prove();
  if (result_.exit_code == kSuccess) {
    Finish(Phase::kPlan, [&](auto& out) { out << plan::ToText(*result_.plan); });
  }
  if (result_.exit_code != kSuccess) result_.plan = nullptr;  // not proved, or its text not written
}

Compilation Phases::Run() {
  const std::optional<program::Program> program = ReadSources();
  if (!program) return std::move(result_);
  const std::optional<graph::Module> module = MakeGraph(*program);
  if (!module) return std::move(result_);
  const std::optional<Schedules> schedules = MakeSchedules(*module);
  if (schedules) EmitAndProve(*module, *schedules);
  return std::move(result_);
}

}  // namespace

std::optional<Phase> ParsePhase(llvm::StringRef name) {
#define X(id, text) \
  if (name == text) return Phase::id;
  CGRAPH_PHASES(X)
#undef X
  return std::nullopt;
}

Compilation Compile(const CompileOptions& options, Sources& sources, Diagnostics& diagnostics) {
  return Phases(options, sources, diagnostics).Run();
}

}  // namespace cgraph
