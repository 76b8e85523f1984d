// How results and messages are printed: flags of every command.
#ifndef CGRAPH_COMPILER_COMMAND_FLAGS_OUTPUT_FLAGS_H_
#define CGRAPH_COMPILER_COMMAND_FLAGS_OUTPUT_FLAGS_H_

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>

namespace cgraph::command {

struct OutputFlags {
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  std::string color = "auto";
  size_t max_errors = 20;
  bool warnings_are_errors = false;

  bool use_color() const;  // on standard error
};

void AddOutputFlags(CLI::App& command, OutputFlags& flags);

}  // namespace cgraph::command

#endif  // CGRAPH_COMPILER_COMMAND_FLAGS_OUTPUT_FLAGS_H_
