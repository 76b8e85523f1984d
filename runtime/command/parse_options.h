// The command line of cgrun: reads its flags, and says what is wrong with them.
#ifndef CGRAPH_RUNTIME_COMMAND_PARSE_OPTIONS_H_
#define CGRAPH_RUNTIME_COMMAND_PARSE_OPTIONS_H_

#include <chrono>

#include "runtime/base/exit_code.h"
#include "runtime/command/options.h"

namespace cgraph::command {

struct ParsedOptions {
  // What to do; neither: end with `exit_code`, since help, version or a mistake was printed.
  bool run = false, list_devices = false;
  ExitCode exit_code = kSuccess;
  Options options;
};
ParsedOptions ParseOptions(int argc, char** argv);

// Returns what --timeout says, before all is parsed; the default where it says nothing right.
std::chrono::nanoseconds TimeoutOf(int argc, char** argv);

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_PARSE_OPTIONS_H_
