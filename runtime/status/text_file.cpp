#include "runtime/status/text_file.h"

#include <fmt/format.h>

#include <fstream>
#include <system_error>

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
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();  // a full disk shows only now
  if (!out) return {StatusCode::kNotFound, fmt::format("cannot write {}", path)};
  return Status::Ok();
}

}  // namespace cgraph
