#include "compiler/command/files.h"

#include <fmt/format.h>

#include <fstream>

#include "compiler/command/report.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/status/read_file.h"

namespace cgraph {

bool WritesOver(const std::string& out, const std::string& in) {
  if (!llvm::sys::fs::equivalent(out, in)) return false;
  UsageError("-o " + out + " is the file that is read; name another one");
  return true;
}

Status WriteText(const std::string& path, const std::string& text) {
  if (path.empty() || path == "-") {
    llvm::outs() << text;
    return Status::Ok();
  }
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) return {StatusCode::kNotFound, fmt::format("cannot write {}", path)};
  return Status::Ok();
}

Result<std::string> ReadText(const std::string& path, int64_t most) {
  std::string text;
  if (const std::error_code error = ReadFile(path, most, text)) {
    return Status{StatusCode::kNotFound, fmt::format("cannot read {}: {}", path, error.message())};
  }
  if (static_cast<int64_t>(text.size()) <= most) return text;
  return Status{StatusCode::kInvalid, fmt::format("{} has more than {} bytes", path, most)};
}

}  // namespace cgraph
