// The flags that commands share, and what they all do with files and diagnostics.
#ifndef CGRAPH_COMPILER_COMMAND_FLAGS_H_
#define CGRAPH_COMPILER_COMMAND_FLAGS_H_

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "compiler/base/diagnostics/diagnostics.h"
#include "compiler/command/compile.h"
#include "runtime/plan/loaded_plan.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status.h"

namespace llvm::json {
class OStream;
}

namespace cgraph {

// How results and messages are printed: flags of every command.
struct OutputFlags {
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  std::string color = "auto";
  size_t max_errors = 20;
  bool warnings_are_errors = false;

  bool use_color() const;  // on standard error
};

// Flags of everything that compiles, as text; Options() makes CompileOptions of them.
struct CompileFlags {
  std::vector<std::string> graphs, defines, import_dirs, emit;
  bool overlap = false, no_overlap = false, time_phases = false;
  int64_t inflight = 0;
  std::string stop_after;
  std::string schedule, topology, lanes;
  std::optional<uint32_t> effort;
  std::vector<std::string> no_rewrite;
  std::string device_map;  // of the plan that is made; empty: a worker for each device

  // All but --graph and --topology, which what reads a plan knows too: a plan is already compiled.
  std::vector<const CLI::Option*> of_sources;

  // kInvalid names the flag that is wrong: a usage error.
  Result<CompileOptions> Options(const std::string& path) const;
};

void AddOutputFlags(CLI::App& command, OutputFlags& flags);
void AddCompileFlags(CLI::App& command, CompileFlags& flags);

// Compiles with its diagnostics printed: to standard error, or into an array of `json`.
Compilation CompileAndReport(const CompileOptions& options, const OutputFlags& output,
                             llvm::json::OStream* json);

// A plan from a .cgplan, or from anything else by compiling it. Without one, what went wrong has
// been printed and `exit_code` says which kind it was. `profile` is what its schedule is made by;
// `topology` gets the machine that --topology names, if it does.
plan::LoadedPlan LoadOrCompile(const std::string& path, const CompileFlags& flags,
                               const OutputFlags& output,
                               const std::optional<Profile>& profile = std::nullopt,
                               std::optional<cost::Topology>* topology = nullptr);

// What is no diagnostic, to standard error: "cgc: error: ...". Each returns its exit code.
ExitCode ReportStatus(const Status& status);
ExitCode UsageError(const std::string& message);

// Whether writing `out` would destroy `in`, the file that the command reads; says so.
bool WritesOver(const std::string& out, const std::string& in);

// Writes a text to `path`; "" and "-" are standard output.
Status WriteText(const std::string& path, const std::string& text);
Result<std::string> ReadText(const std::string& path);

// The index of the graph that `name` names; when empty, of the only one. kNone is never returned:
// the status says which graphs there are.
Result<uint32_t> FindGraph(const plan::Plan& plan, const std::string& name);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_COMMAND_FLAGS_H_
