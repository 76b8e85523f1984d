// Flags of everything that compiles, as text; Options() makes CompileOptions of them.
#ifndef CGRAPH_COMPILER_COMMAND_FLAGS_COMPILE_FLAGS_H_
#define CGRAPH_COMPILER_COMMAND_FLAGS_COMPILE_FLAGS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/driver/compile.h"
#include "runtime/status/same_file.h"
#include "runtime/status/status.h"

namespace cgraph::command {

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

  // The files that these flags name, beside others: what is read, what --emit writes.
  std::vector<NamedFile> Read(std::vector<NamedFile> others) const;
  std::vector<NamedFile> Written(std::vector<NamedFile> others) const;

  // kInvalid names the flag that is wrong: a usage error.
  Result<CompileOptions> Options(const std::string& path) const;
};

void AddCompileFlags(CLI::App& command, CompileFlags& flags);

}  // namespace cgraph::command

#endif  // CGRAPH_COMPILER_COMMAND_FLAGS_COMPILE_FLAGS_H_
