// Compile: a file -> a proved plan, phase by phase.
//
// Every phase is one function; compile.cpp reads as their list. A phase runs only when those before
// it found no error; its result is validated, printed where --emit asks for it, and timed.
#ifndef CGRAPH_COMPILER_DRIVER_COMPILE_H_
#define CGRAPH_COMPILER_DRIVER_COMPILE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/base/diagnostics/diagnostics.h"
#include "compiler/cost/profile.h"
#include "compiler/cost/topology.h"
#include "compiler/elaborate/elaborate.h"
#include "compiler/graph/rewrite.h"
#include "compiler/schedule/options.h"
#include "runtime/base/exit_code.h"
#include "runtime/base/files.h"
#include "runtime/plan/plan.h"

namespace cgraph {

// The results of phases, once: enumerator, name. --emit prints each, --stop-after ends with it.
#define CGRAPH_PHASES(X)        \
  X(kSyntax, "syntax")          \
  X(kProgram, "program")        \
  X(kGraph, "graph")            \
  X(kTransports, "transports")  \
  X(kSchedule, "schedule")      \
  X(kPlan, "plan")

enum class Phase {
#define X(id, name) id,
  CGRAPH_PHASES(X)
#undef X
};
std::optional<Phase> ParsePhase(llvm::StringRef name);

// What --emit writes, once: enumerator, name, the phase that has it. A phase's text has its name;
// as PyTorch's CSV, a pipeline's order is its calls, or also the transfers between them.
#define CGRAPH_EMIT_KINDS(X)                              \
  X(kSyntax, "syntax", kSyntax)                           \
  X(kProgram, "program", kProgram)                        \
  X(kGraph, "graph", kGraph)                              \
  X(kTransports, "transports", kTransports)               \
  X(kTransportsCsv, "transports-csv", kTransports)        \
  X(kSchedule, "schedule", kSchedule)                     \
  X(kScheduleCsv, "schedule-csv", kSchedule)              \
  X(kPlan, "plan", kPlan)

enum class EmitKind {
#define X(id, name, phase) id,
  CGRAPH_EMIT_KINDS(X)
#undef X
};
std::optional<EmitKind> ParseEmitKind(llvm::StringRef name);

struct Emission {  // --emit KIND[=FILE]
  EmitKind kind;
  std::string file;  // empty or "-": standard output
  bool prints() const { return file.empty() || file == "-"; }
};

struct CompileOptions {
  std::string path;
  std::vector<std::string> graphs;                  // --graph; empty: all
  std::map<std::string, std::string> defines;       // -D
  std::vector<std::string> import_dirs;             // -I
  std::optional<bool> overlap;                      // --overlap, --no-overlap
  int64_t inflight = 0;                             // --inflight; 0: what the graph says
  std::optional<uint32_t> effort;                   // --effort; absent: the usual one
  std::string schedule;                             // --schedule; empty: what the graphs say
  std::optional<Profile> profile;                   // --profile
  std::optional<CommLanes> lanes;                   // --lanes; absent: the fewest that cost nothing
  schedule::Goal goal = schedule::Goal::kMakespan;  // of `using auto`
  const cost::Topology* topology = nullptr;         // null: what `machine` names
  std::string machine;                              // --topology; empty: the assumed one
  std::optional<int64_t> memory;                    // of each computing device, in bytes
  std::vector<Emission> emit;                       // --emit
  std::optional<Phase> stop_after;
  bool check_only = false;                          // stop when no more faults can be found
  bool time_phases = false;
  ElaborationLimits limits;
  std::string device_map;                           // --device-map
  uint32_t workers = 0;                             // --workers; 0: one for each device
  std::vector<std::string> no_rewrite;              // --no-rewrite; "all": every one
};

struct Compilation {
  ExitCode exit_code = kSuccess;
  std::unique_ptr<plan::Plan> plan;  // proved; null when stopped before or not reached
  std::vector<Rewritten> rewritten;  // what rewrites did
  std::vector<NamedFile> read;       // the sources
  std::optional<cost::Topology> topology;  // that --topology names
};

// Compiles. Diagnostics go to `diagnostics`; everything else (an --emit file that cannot be
// written, how long the phases took) goes to stderr. A plan that does not prove is a bug of ours: a
// CHECK.
Compilation Compile(const CompileOptions& options, Sources& sources, Diagnostics& diagnostics);

// Where `std.` is: beside the executable when installed, else in the source tree.
std::string LibraryDir();

// Returns where the library's file lies that is shown as `<std>/tensor.cgraph`, or, of one of its
// sets, as `<std>/schedules/gpipe.cgraph`.
std::string LibraryFile(const std::string& shown);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_DRIVER_COMPILE_H_
