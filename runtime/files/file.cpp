// Reading through POSIX descriptors: pread for tensors out of the middle, read for streams.
#include "runtime/files/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "runtime/base/files.h"

namespace cgraph::files {
namespace {

Status CannotRead(const std::string& path, Patience patience = kForever) {
  const int error = errno;
  return {error == ETIMEDOUT ? StatusCode::kTimeout : StatusCode::kNotFound,
          fmt::format("cannot read {}: {}{}", path, ReadErrorText(error, patience),
                      error == ENOENT ? NearFileHint(path, {".safetensors", ".npy"}) : "")};
}

}  // namespace

Result<File> File::Open(const std::string& path, Patience patience) {
  File file;
  file.patience_ = patience;
  file.path_ = path == "-" ? "standard input" : path;
  file.descriptor_ = path == "-" ? dup(STDIN_FILENO) : OpenToRead(path);
  struct stat info;
  if (file.descriptor_ < 0 || fstat(file.descriptor_, &info) != 0) return CannotRead(file.path_);
  if (S_ISDIR(info.st_mode)) {
    errno = EISDIR;
    return CannotRead(file.path_);
  }
  // Redirected input may have been read in part already.
  if (S_ISREG(info.st_mode) && path != "-") file.size_ = static_cast<uint64_t>(info.st_size);
  file.modified_ns_ = int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
  return file;
}

File::File(File&& other) noexcept { *this = std::move(other); }
File& File::operator=(File&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(patience_, other.patience_);
  std::swap(path_, other.path_);
  std::swap(size_, other.size_);
  std::swap(modified_ns_, other.modified_ns_);
  return *this;
}
File::~File() {
  if (descriptor_ >= 0) close(descriptor_);
}

Result<size_t> File::Read(std::span<uint8_t> out) {
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t count = ReadSome(descriptor_, out.subspan(done), patience_);
    if (count < 0) return CannotRead(path_, patience_);
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  return done;
}

Status File::ReadAt(uint64_t offset, std::span<uint8_t> out) const {
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t count = pread(descriptor_, out.data() + done, out.size() - done,
                                static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return CannotRead(path_);
    if (count == 0) {
      return {StatusCode::kInvalid, fmt::format("{} has become shorter while it was read", path_)};
    }
    done += static_cast<size_t>(count);
  }
  return Status::Ok();
}

std::string LfsPointerText(std::span<const uint8_t> begin) {
  constexpr std::string_view kBegin = "version ";  // such a file's first word, a length in others
  const size_t count = std::min(begin.size(), kBegin.size());
  if (count < kBegin.size() || std::memcmp(begin.data(), kBegin.data(), count) != 0) return "";
  return "it is a pointer of Git LFS to the file, which is not here: `git lfs pull` fetches it";
}

}  // namespace cgraph::files
