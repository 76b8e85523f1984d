#include "runtime/status/text_file.h"

#include <fmt/format.h>

#include <system_error>

#include "runtime/status/output_files.h"
#include "runtime/status/read_file.h"

namespace cgraph {

Result<std::string> ReadText(const std::string& path, int64_t most) {
  std::string text;
  if (const std::error_code error = ReadFile(path, most, text)) {
    return Status{StatusCode::kNotFound, fmt::format("cannot read {}: {}", path, error.message())};
  }
  if (static_cast<int64_t>(text.size()) <= most) return text;
  return Status{StatusCode::kInvalid, fmt::format("{} has more than {} bytes", path, most)};
}

Status WriteText(const std::string& path, const std::string& text) {
  OutputFiles files;
  CGRAPH_RETURN_IF_ERROR(files.Add(path, text));
  return files.Commit();
}

}  // namespace cgraph
