// What cgrun says on standard error, and the exit code that goes with it.
#ifndef CGRAPH_RUNTIME_COMMAND_MESSAGES_H_
#define CGRAPH_RUNTIME_COMMAND_MESSAGES_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runtime/command/options.h"
#include "runtime/status/exit_code.h"
#include "runtime/status/status.h"

namespace cgraph::command {

// To standard error as it is. Where that cannot be written nobody listens, which is no error.
void Say(const std::string& text);

// "cgrun: error: ...", in red when the options want colour. Returns the code, to be returned on.
ExitCode Report(const Options& options, ExitCode code, const std::string& message);
ExitCode Report(const Options& options, const Status& status);

// The same where the command ends without results: with --json they are an object that says why,
// {"error": ..., "exit_code": ...}, on standard output.
ExitCode Fail(const Options& options, ExitCode code, const std::string& message);
ExitCode Fail(const Options& options, const Status& status);

// One line on standard output. Bytes that are no UTF-8 (of a file's name) are replaced.
void PrintJson(const nlohmann::ordered_json& json);

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_MESSAGES_H_
