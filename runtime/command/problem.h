// Problem: why the command ends before anything runs. A mistake on the command line that only the
// plan shows is a usage error, not a failed run: so it has an exit code of its own.
#ifndef CGRAPH_RUNTIME_COMMAND_PROBLEM_H_
#define CGRAPH_RUNTIME_COMMAND_PROBLEM_H_

#include <string>

#include "runtime/status/exit_code.h"
#include "runtime/status/status.h"

namespace cgraph::command {

struct Problem {
  ExitCode code = kSuccess;
  std::string message;
  bool ok() const { return code == kSuccess; }
};

inline Problem ProblemOf(const Status& status) {
  return {ExitCodeOf(status.code()), status.message()};
}

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_PROBLEM_H_
