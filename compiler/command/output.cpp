#include "compiler/command/output.h"

#include "llvm/Support/raw_ostream.h"
#include "runtime/status/files.h"

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

namespace {

std::vector<NamedFile> OnlyFiles(const std::vector<NamedFile>& named) {
  std::vector<NamedFile> files;
  for (const NamedFile& file : named) {
    if (!file.path.empty() && file.path != "-") files.push_back(file);
  }
  return files;
}

}  // namespace

bool LosesFiles(const std::vector<NamedFile>& read, const std::vector<NamedFile>& written) {
  const std::string lost = Overwriting(OnlyFiles(read), OnlyFiles(written));
  if (lost.empty()) return false;
  UsageError(lost);
  return true;
}

Status WriteOutput(const std::string& path, const std::string& text) {
  if (!path.empty() && path != "-") return WriteText(path, text);
  llvm::outs() << text;
  return Status::Ok();
}

}  // namespace cgraph::command
