#include "compiler/command/output.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/base/files.h"
#include "runtime/base/text.h"

namespace cgraph::command {

ExitCode ReportStatus(const Status& status) {
  const bool bug = status.code() == StatusCode::kInternal;
  Say((bug ? "cgc: internal error: " : "cgc: error: ") + status.message() + "\n");
  if (bug) Say(kReportBug);
  return ExitCodeOf(status.code());
}

ExitCode UsageError(const std::string& message) {
  Say("cgc: error: " + message + "\n");
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
  llvm::outs() << ForStandardOutput(text);
  return Status::Ok();
}

void WriteJsonOutput(llvm::function_ref<void(llvm::json::OStream&)> write) {
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::json::OStream json(out, 1);
  write(json);
  out << "\n";
  llvm::outs() << ForStandardOutput(out.str());
}

void PrintJson(const llvm::json::Value& value) {
  llvm::outs() << ForStandardOutput(llvm::formatv("{0:2}\n", value).str());
}

}  // namespace cgraph::command
