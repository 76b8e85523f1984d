// Messages of cgrun on standard error, and the exit codes that go with them.
#ifndef CGRAPH_RUNTIME_COMMAND_MESSAGES_H_
#define CGRAPH_RUNTIME_COMMAND_MESSAGES_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runtime/base/exit_code.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/command/options.h"

namespace cgraph::command {

// "cgrun: error: ...", in red when the options want colour. Returns the code, to be returned on.
ExitCode Report(const Options& options, ExitCode code, const std::string& message);
ExitCode Report(const Options& options, const Status& status);

// As Report(), for a command that ends without results: with --json it also prints an object with
// the reason, {"error": ..., "exit_code": ...}, on standard output.
ExitCode Fail(const Options& options, ExitCode code, const std::string& message);
ExitCode Fail(const Options& options, const Status& status);

// "cgrun: note: ...", unless the options ask for quiet or there is no text.
void SayNote(const Options& options, const std::string& text);

// Prints one line on standard output. Bytes that are not UTF-8 (of a file's name) are replaced.
void PrintJson(const nlohmann::ordered_json& json);

// Problem: why the command ends before anything runs. It has an exit code of its own, because a
// mistake on the command line that only the plan shows is still a usage error and not a failed run.
struct Problem {
  ExitCode code = kSuccess;
  std::string message;
  bool ok() const { return code == kSuccess; }
};

inline Problem ProblemOf(const Status& status) {
  return {ExitCodeOf(status.code()), status.message()};
}
// The same of what is wrong with a plan, which is called as its file.
inline Problem ProblemOfPlan(const Options& options, const Status& status) {
  Problem problem = ProblemOf(status);
  if (!options.is_source()) problem.message = options.file + ": " + problem.message;
  return problem;
}

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_MESSAGES_H_
