#include "compiler/base/read_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace cgraph {

std::error_code ReadFile(const std::string& path, int64_t most, std::string& text) {
  text.clear();
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return {errno, std::generic_category()};
  // In pieces: a size that the file system reports may be a lie (a pipe, /proc).
  constexpr size_t kPiece = 1 << 16;
  const auto limit = static_cast<size_t>(most) + 1;
  size_t got = 1;
  while (got > 0 && text.size() < limit) {
    const size_t before = text.size();
    const size_t wanted = std::min(limit - before, std::max(before, kPiece));
    text.resize(before + wanted);
    got = std::fread(text.data() + before, 1, wanted, file);
    text.resize(before + got);
  }
  const int error = std::ferror(file) != 0 ? errno : 0;
  std::fclose(file);
  return {error, std::generic_category()};
}

}  // namespace cgraph
