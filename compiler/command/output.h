// What commands write: messages to standard error, texts into files or to standard output.
#ifndef CGRAPH_COMPILER_COMMAND_OUTPUT_H_
#define CGRAPH_COMPILER_COMMAND_OUTPUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/JSON.h"
#include "runtime/base/exit_code.h"
#include "runtime/base/files.h"
#include "runtime/base/status.h"

namespace cgraph::command {

// What is no diagnostic, to standard error: "cgc: error: ...". Each returns its exit code.
ExitCode ReportStatus(const Status& status);
ExitCode UsageError(const std::string& message);

// Whether a file would be lost: one that is read, or one of two results under one name; says so.
// Names that are empty or "-" are no files.
bool LosesFiles(const std::vector<NamedFile>& read, const std::vector<NamedFile>& written);

// WriteText(), but that "" and "-" are standard output.
Status WriteOutput(const std::string& path, const std::string& text);

// Write JSON to standard output.
void WriteJsonOutput(llvm::function_ref<void(llvm::json::OStream&)> write);
void PrintJson(const llvm::json::Value& value);

inline constexpr int64_t kMaxTextBytes = int64_t{1} << 30;  // a plan as JSON; others are small

}  // namespace cgraph::command

#endif  // CGRAPH_COMPILER_COMMAND_OUTPUT_H_
