#include "compiler/driver/compile.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "compiler/base/check.h"
#include "compiler/base/limits.h"
#include "compiler/check/check.h"
#include "compiler/driver/plan_limits.h"
#include "compiler/elaborate/elaborate.h"
#include "compiler/emit/emit.h"
#include "compiler/graph/fuse/fuse.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/recompute.h"
#include "compiler/graph/rewrite.h"
#include "compiler/pipeline/order.h"
#include "compiler/program/program.h"
#include "compiler/schedule/ir.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/workers/partition.h"
#include "compiler/syntax/parse.h"
#include "compiler/syntax/syntax.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/base/files.h"
#include "runtime/base/read_file.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/plan/print.h"
#include "runtime/plan/prove.h"

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

// Reads the named file as source 0 of the compilation.
std::optional<SourceId> ReadMain(const std::string& path, Sources& sources,
                                 Diagnostics& diagnostics) {
  std::string text;
  if (const std::error_code error = ReadFile(path, kMaxSourceBytes, text)) {
    const bool absent = error == std::errc::no_such_file_or_directory;
    diagnostics.Report(Code::kE0101, {},
                       "cannot read " + path + ": " + error.message() +
                           (absent ? NearFileHint(path, {".cgraph"}) : ""));
    return std::nullopt;
  }
  return sources.Add(path, std::move(text));
}

// Returns whether scheduling can find a fault of the program: rules that can never be kept.
bool HasRules(const graph::Module& module) {
  return llvm::any_of(module.graphs, [](const graph::Graph& graph) {
    return graph.rules && !graph.rules->automatic;
  });
}

ScheduleOptions ScheduleOptionsOf(const CompileOptions& options, const cost::Topology* topology) {
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

// Returns whether all errors are faults of flags: errors about no place of the program, in the text
// of --schedule or --topology, or about the const that -D gives a value of another kind.
bool OnlyOfFlags(const Diagnostics& diagnostics) {
  return llvm::all_of(diagnostics.all(), [&](const Diagnostic& diagnostic) {
    if (diagnostic.severity == Severity::kWarning || !diagnostic.range.valid()) return true;
    const Source& source = diagnostics.sources()[diagnostic.range.source];
    return diagnostic.code == Code::kE0502 || source.kind == SourceKind::kFlag;
  });
}

// Adds to the first error which modules -D chose, unless it says so itself.
void NoteChosenModules(const program::Program& program, Diagnostics& diagnostics) {
  Diagnostic* first = diagnostics.first_error();
  if (first == nullptr || first->code == Code::kE0501 || first->code == Code::kE0502) return;
  for (const program::Alias& alias : program.aliases) {
    const std::string flag = fmt::format("-D {}=", alias.name);
    if (alias.chosen.empty() || first->message.find(flag) != std::string::npos) continue;
    const std::string& written = alias.imports[0].module;
    if (alias.chosen == written) continue;
    first->AddNote(Range(), fmt::format("`{}` is `{}` by {}{}, and `{}` in the file", alias.name,
                                        alias.chosen, flag, alias.chosen, written));
  }
}

// The phase whose text that is; nothing for the order of a pipeline, which is no phase's text.
std::optional<Phase> TextOf(EmitKind kind) {
  if (kind == EmitKind::kScheduleCsv || kind == EmitKind::kTransportsCsv) return std::nullopt;
  switch (kind) {
#define X(id, name, phase) \
  case EmitKind::id:       \
    return Phase::phase;
    CGRAPH_EMIT_KINDS(X)
#undef X
  }
  llvm_unreachable("a kind of --emit without a phase");
}

std::vector<NamedFile> FilesOf(const Sources& sources) {
  std::vector<NamedFile> files;
  for (uint32_t i = 0; i < sources.size(); ++i) {
    const Source& source = sources[SourceId(i)];
    if (source.kind == SourceKind::kFlag) continue;
    files.push_back(
        {"", source.kind == SourceKind::kLibrary ? LibraryFile(source.path) : source.path});
  }
  return files;
}

using Schedules = std::vector<schedule::Schedule>;  // of the start graph, then of each graph

CheckOptions CheckOptionsOf(const CompileOptions& options) {
  return {.import_dirs = options.import_dirs,
          .library_dir = LibraryDir(),
          .defines = options.defines,
          .schedule = options.schedule,
          .topology = options.machine};
}

// What a compilation would read, also when it ends before imports are looked up.
std::vector<NamedFile> FilesToRead(const CompileOptions& options) {
  Sources sources;
  Diagnostics ignored(sources);
  const std::optional<SourceId> main = ReadMain(options.path, sources, ignored);
  if (main) Check(Parse(*main, ignored), sources, CheckOptionsOf(options), ignored);
  return FilesOf(sources);
}

// Phases: one compilation on its way through the phases.
class Phases {
 public:
  Phases(const CompileOptions& options, Sources& sources, Diagnostics& diagnostics)
      : options_(options), sources_(sources), diagnostics_(diagnostics),
        clock_(options.time_phases) {}

  Compilation Run();

 private:
  // Prints a phase's result wherever --emit asks for it. Returns false to end the compilation: it
  // found errors, could not write, or was to stop here.
  template <typename PrintFunction>
  bool Finish(Phase phase, PrintFunction print);
  bool Write(const std::string& file, const std::string& text);  // false: could not, and said so
  bool WriteOrders(const graph::Module& module, const Schedules& schedules);
  // The topology by which the program is rewritten and scheduled; null: the assumed one.
  const cost::Topology* TopologyOf() const {
    if (options_.topology != nullptr) return options_.topology;
    return result_.topology ? &*result_.topology : nullptr;
  }
  // Returns whether only a check is asked for, and no later phase can find a fault or print
  // anything.
  bool IsChecked(const graph::Module& module) const {
    return options_.check_only && options_.emit.empty() && !diagnostics_.has_errors() &&
           !HasRules(module) && !result_.topology;
  }
  // Whether something is asked that only a plan answers.
  bool NeedsPlan() const {
    return !options_.check_only || llvm::any_of(options_.emit, [](const Emission& emission) {
      return emission.kind == EmitKind::kPlan;
    });
  }
  void Prove();

  // Each function runs some of the phases, in their order; without a result the compilation ends.
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
  if (result_.read.empty()) result_.read = FilesToRead(options_);  // imports are not known so far
  if (const std::string lost = Overwriting(result_.read, emitted); !lost.empty()) {
    Say("cgc: error: " + lost + "\n");
    result_.exit_code = kUsage;
    return false;
  }
  const Status written = WriteText(file, text);
  if (written.ok()) return true;
  Say("cgc: error: " + written.message() + "\n");
  result_.exit_code = ExitCodeOf(written.code());
  return false;
}

template <typename PrintFunction>
bool Phases::Finish(Phase phase, PrintFunction print) {
  for (const Emission& emission : options_.emit) {
    if (TextOf(emission.kind) != phase) continue;
    std::string text;
    llvm::raw_string_ostream out(text);
    print(out);
    if (emission.prints()) {
      llvm::outs() << ForStandardOutput(text);
    } else if (!Write(emission.file, text)) {
      return false;
    }
  }
  if (diagnostics_.has_errors()) {
    result_.exit_code = OnlyOfFlags(diagnostics_) ? kUsage : kFailure;
    return false;
  }
  return options_.stop_after != phase;
}

// Returns false where some order that --emit asks for cannot be written.
bool Phases::WriteOrders(const graph::Module& module, const Schedules& schedules) {
  for (const Emission& emission : options_.emit) {
    if (TextOf(emission.kind) || diagnostics_.has_errors()) continue;
    const bool transfers = emission.kind == EmitKind::kTransportsCsv;
    Result<pipeline::Order> order =
        module.graphs.size() == 1
            ? pipeline::OrderOf(module, module.graphs[0], schedules[1], transfers)
            : Status(StatusCode::kInvalid, "a CSV is of one graph: choose it with --graph");
    if (!order.ok()) {
      Say(fmt::format("cgc: error: {}: {}\n", emission.prints() ? options_.path : emission.file,
                      order.status().message()));
      result_.exit_code = kFailure;
      return false;
    }
    const std::string text = pipeline::WriteOrder(*order);
    if (emission.prints()) {
      llvm::outs() << ForStandardOutput(text);
    } else if (!Write(emission.file, text)) {
      return false;
    }
  }
  return true;
}

void Phases::Prove() {
  const plan::Verdict verdict = plan::Prove(*result_.plan);
  clock_.Done("prove");
  if (verdict.refusal == plan::Refusal::kTooLarge) {
    Say(fmt::format("cgc: error: {}: {}\n", options_.path, verdict.message));
    result_.exit_code = kFailure;
    return;
  }
  // Any other plan that is made must prove: a refusal is our bug, and the plan is not written.
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

  program::Program program =
      Check(std::move(file), sources_, CheckOptionsOf(options_), diagnostics_);
  result_.read = FilesOf(sources_);
  clock_.Done("check");
  if (!diagnostics_.has_errors()) Validate(program);
  return program;
}

std::optional<graph::Module> Phases::MakeGraph(const program::Program& program) {
  if (!Finish(Phase::kProgram, [&](auto& out) { Print(program, out); })) return std::nullopt;
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
    Recompute(module);
    result_.rewritten = Rewrite(module, RewriteOptionsOf(options_, TopologyOf()));
    clock_.Done("rewrite");
    Validate(module, "rewrite");
    ViewReshapes(module);  // before others, which know views
    ShareCopies(module);
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
  if (result_.exit_code == kSuccess) {
    options_.workers > 0 ? schedule::PartitionFor(*result_.plan, options_.workers)
                         : schedule::AddPartitions(*result_.plan);
    Prove();
  }
  if (result_.exit_code == kSuccess) {
    Finish(Phase::kPlan, [&](auto& out) { out << plan::ToText(*result_.plan); });
  }
  if (result_.exit_code != kSuccess) result_.plan = nullptr;  // not proved, or its text not written
}

Compilation Phases::Run() {
  const std::optional<program::Program> program = ReadSources();
  if (!program) return std::move(result_);
  const std::optional<graph::Module> module = MakeGraph(*program);
  NoteChosenModules(*program, diagnostics_);
  if (!module) return std::move(result_);
  const std::optional<Schedules> schedules = MakeSchedules(*module);
  if (schedules && NeedsPlan()) EmitAndProve(*module, *schedules);
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

std::optional<EmitKind> ParseEmitKind(llvm::StringRef name) {
#define X(id, text, phase) \
  if (name == text) return EmitKind::id;
  CGRAPH_EMIT_KINDS(X)
#undef X
  return std::nullopt;
}

Compilation Compile(const CompileOptions& options, Sources& sources, Diagnostics& diagnostics) {
  return Phases(options, sources, diagnostics).Run();
}

}  // namespace cgraph
