#include "compiler/command/messages.h"

#include "llvm/Support/raw_ostream.h"

namespace cgraph::command {

ExitCode ReportStatus(const Status& status) {
  const bool bug = status.code() == StatusCode::kInternal;
  llvm::errs() << (bug ? "cgc: internal error: " : "cgc: error: ") << status.message() << "\n";
  if (bug) llvm::errs() << kReportBug;
  return ExitCodeOf(status.code());
}

ExitCode UsageError(const std::string& message) {
  llvm::errs() << "cgc: error: " << message << "\n";
  return kUsage;
}

}  // namespace cgraph::command
