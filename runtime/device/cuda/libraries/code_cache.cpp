// A file is a header, which has the key and the length of the code, and the code.
#include "runtime/device/cuda/libraries/code_cache.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

#include <fmt/format.h>

namespace cgraph::cuda {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".cgraph-code";
constexpr std::string_view kTemporary = ".cgraph-temporary";
constexpr auto kAbandoned = std::chrono::hours(1);  // no process writes a file for so long
constexpr uint64_t kMagic = 0x31656463'68706763;  // "cgphcde1"

using Digest = std::array<uint64_t, 2>;

// Two digests of 64 bits, each of all bytes, in words of eight.
Digest DigestOf(std::string_view text) {
  Digest digest = {0x9ae16a3b2f90404f, 0xc949c7defebd2f61};
  const auto mix = [&](uint64_t word) {
    for (uint64_t& half : digest) {
      half = (half ^ word) * 0x9fb21c651e98df25;
      half ^= half >> 29;
      word = word * 0xd6e8feb86659fd93 + 0xa0761d6478bd642f;
    }
  };
  for (size_t at = 0; at < text.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min<size_t>(8, text.size() - at));
    mix(word);
  }
  mix(text.size());
  mix(digest[0] ^ digest[1]);
  return digest;
}

struct Header {
  uint64_t magic = kMagic;
  Digest key, code;
  uint64_t bytes = 0;  // of the code

  bool operator==(const Header&) const = default;
};

Header HeaderOf(std::string_view key, std::string_view code) {
  return {kMagic, DigestOf(key), DigestOf(code), code.size()};
}

const char* Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

}  // namespace

fs::path CodeCache::DefaultFolder() {
  if (const char* own = Environment("CGRAPH_CACHE_DIR")) return own;
  if (const char* caches = Environment("XDG_CACHE_HOME")) return fs::path(caches) / "cgraph";
  if (const char* home = Environment("HOME")) return fs::path(home) / ".cache" / "cgraph";
  return {};
}

fs::path CodeCache::PathOf(std::string_view key) const {
  const Digest digest = DigestOf(key);
  return folder_ / fmt::format("{:016x}{:016x}{}", digest[0], digest[1], kSuffix);
}

// The header has digests of key and code, and the length: a file that was cut off, that is of
// another key whose name is the same, or that was changed, counts as none.
std::optional<std::string> CodeCache::Find(std::string_view key) const {
  if (folder_.empty()) return std::nullopt;
  const fs::path path = PathOf(key);
  std::ifstream file(path, std::ios::binary);
  std::string all{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  Header header;
  if (!file || all.size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, all.data(), sizeof(header));
  std::string code = all.substr(sizeof(header));
  if (header != HeaderOf(key, code)) return std::nullopt;
  std::error_code error;  // that the file is in use, as the last one that was
  fs::last_write_time(path, fs::file_time_type::clock::now(), error);
  return code;
}

// Several processes and threads may keep files at once. Each writes a temporary one, whose name has
// its process and a number, in the same folder, since a file is renamed as a whole within one file
// system only. Of two under one key the last one stays; both are right.
void CodeCache::Keep(std::string_view key, std::string_view code) const {
  if (folder_.empty()) return;
  std::error_code error;
  fs::create_directories(folder_, error);
  static std::atomic<uint32_t> number{0};
  const fs::path path = PathOf(key);
  const fs::path temporary =
      folder_ / fmt::format("{}-{}{}", getpid(), number.fetch_add(1), kTemporary);
  {
    const Header header = HeaderOf(key, code);
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(&header), sizeof(header));
    file.write(code.data(), static_cast<std::streamsize>(code.size()));
    file.flush();
    if (!file) {
      fs::remove(temporary, error);
      return;
    }
  }
  fs::rename(temporary, path, error);
  if (error) fs::remove(temporary, error);
  Trim();
}

// Another process may do the same at the same time: a file that has gone meanwhile is no error.
void CodeCache::Trim() const {
  struct File {
    fs::file_time_type used;
    uint64_t bytes;
    fs::path path;
  };
  std::vector<File> files;
  uint64_t total = 0;
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    if (entry.path().extension() == kTemporary && entry.last_write_time(error) + kAbandoned < now) {
      std::error_code ignored;
      fs::remove(entry.path(), ignored);
    }
    if (entry.path().extension() != kSuffix || !entry.is_regular_file(error)) continue;
    files.push_back({entry.last_write_time(error), entry.file_size(error), entry.path()});
    if (error) files.pop_back();  // another process has removed it
    else total += files.back().bytes;
  }
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.used < b.used; });
  for (const File& file : files) {
    if (total <= most_bytes_) return;
    if (fs::remove(file.path, error)) total -= file.bytes;
  }
}

}  // namespace cgraph::cuda
