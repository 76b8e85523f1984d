#include "runtime/status/read_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

namespace cgraph {

std::error_code ReadPieces(const std::string& path,
                           const std::function<bool(std::span<const char>)>& take) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return {errno, std::generic_category()};
  std::array<char, 1 << 16> piece;
  size_t got;
  do {
    got = std::fread(piece.data(), 1, piece.size(), file);
  } while (got > 0 && take({piece.data(), got}));
  const int error = std::ferror(file) != 0 ? errno : 0;
  std::fclose(file);
  return {error, std::generic_category()};
}

std::error_code ReadFile(const std::string& path, int64_t most, std::string& text) {
  text.clear();
  const auto limit = static_cast<size_t>(most) + 1;
  return ReadPieces(path, [&](std::span<const char> piece) {
    text.append(piece.data(), std::min(piece.size(), limit - text.size()));
    return text.size() < limit;
  });
}

}  // namespace cgraph
