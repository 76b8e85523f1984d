// What is no diagnostic, to standard error: "cgc: error: ...". Each returns its exit code.
#ifndef CGRAPH_COMPILER_COMMAND_MESSAGES_H_
#define CGRAPH_COMPILER_COMMAND_MESSAGES_H_

#include <string>

#include "runtime/status/exit_code.h"
#include "runtime/status/status.h"

namespace cgraph::command {

ExitCode ReportStatus(const Status& status);
ExitCode UsageError(const std::string& message);

}  // namespace cgraph::command

#endif  // CGRAPH_COMPILER_COMMAND_MESSAGES_H_
