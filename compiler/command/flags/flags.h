// Flags that several subcommands share.
#ifndef CGRAPH_COMPILER_COMMAND_FLAGS_FLAGS_H_
#define CGRAPH_COMPILER_COMMAND_FLAGS_FLAGS_H_

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/base/diagnostics/diagnostics.h"
#include "compiler/cost/profile.h"
#include "compiler/cost/topology.h"
#include "compiler/driver/compile.h"
#include "runtime/base/files.h"
#include "runtime/base/status.h"
#include "runtime/plan/plan.h"

namespace cgraph::command {

// How results and messages are printed: flags of every command.
struct OutputFlags {
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  std::string color = "auto";
  size_t max_errors = 20;
  bool warnings_are_errors = false;
  std::vector<std::string> no_warn;  // codes of warnings

  bool use_color() const;  // on standard error
  std::vector<Code> suppressed_warnings() const;
};

void AddOutputFlags(CLI::App& command, OutputFlags& flags);
// --Werror, of commands whose warnings it makes errors.
void AddWerrorFlag(CLI::App& command, OutputFlags& flags);

// Flags of every command that compiles, as text; Options() makes CompileOptions of them.
struct CompileFlags {
  std::vector<std::string> graphs, defines, import_dirs, emit;
  bool overlap = false, no_overlap = false, time_phases = false;
  int64_t inflight = 0;
  uint32_t workers = 0;  // 0: one for each device
  std::string stop_after;
  std::string schedule, topology, lanes;
  std::optional<uint32_t> effort;
  std::vector<std::string> no_rewrite;
  // The maps add up and go into the plan. Without one each device has a worker.
  std::vector<std::string> device_maps;

  // All flags but --graph and --topology, which commands that read a plan have too: a plan is
  // already compiled.
  std::vector<const CLI::Option*> of_sources;

  // Lists the files that these flags name, beside others: those that are read, and those that
  // --emit writes.
  std::vector<NamedFile> Read(std::vector<NamedFile> others) const;
  std::vector<NamedFile> Written(std::vector<NamedFile> others) const;

  // Returns kInvalid with the flag that is wrong: a usage error.
  Result<CompileOptions> Options(const std::string& path) const;
};

void AddCompileFlags(CLI::App& command, CompileFlags& flags);

// Reads `--topology` for a plan that is there already: there is no program whose names it could
// mean. What is wrong has been printed.
ExitCode ReadTopology(const CompileFlags& flags, const OutputFlags& output, const plan::Plan& plan,
                      std::optional<cost::Topology>& topology);

// --profile FILE: times of calls, for the commands that take one.
void AddProfileFlag(CLI::App& command, std::string& path);

// Nothing without a path.
Result<std::optional<Profile>> ReadProfile(const std::string& path);

// Warns of times for calls that no graph of the plan makes, nor its start, which are most often
// misspelt names, and of times that were measured of calls with other shapes. Notes, unless
// `output` is quiet, that they were measured on another machine.
void WarnOfUnfitTimes(const plan::Plan& plan, const std::optional<Profile>& profile,
                      const std::string& path, const OutputFlags& output);

// --workers and --cores: what runs the lanes of a simulation.
struct ThreadFlags {
  uint32_t workers = 0, cores = 0;
};

void AddThreadFlags(CLI::App& command, ThreadFlags& flags);

// Deals the plan from `path` to as many workers as are asked for, as cgrun does. They follow a
// certificate, which only a proof makes true: kInvalid when the plan is refused.
Status DealToWorkers(plan::Plan& plan, const std::string& path, const ThreadFlags& flags);

}  // namespace cgraph::command

#endif  // CGRAPH_COMPILER_COMMAND_FLAGS_FLAGS_H_
