// A temporary file has no name (O_TMPFILE) until it is complete, where the file system can do that:
// then even a kill leaves nothing behind.
#include "runtime/base/output_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

namespace cgraph {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kNewFile = 0666;  // less the umask

std::string FolderOf(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

Status CannotWrite(const std::string& path, int error) {
  std::string why = error == EISDIR ? "it is a folder" : std::strerror(error);
  const std::string folder = FolderOf(path);
  std::error_code unknown;
  if (error == ENOENT && !fs::exists(folder, unknown)) {
    why = fmt::format("there is no folder {}", folder);
  }
  return {StatusCode::kNotFound, fmt::format("cannot write {}: {}", path, why)};
}

bool InPlace(const std::string& path, const struct stat& info, bool exists) {
  if (path.starts_with("/dev/") || path.starts_with("/proc/")) return true;
  if (exists) return !S_ISREG(info.st_mode);
  struct stat link;
  return lstat(path.c_str(), &link) == 0;  // a link to nothing yet
}

// Returns a name beside `target` that no file has.
std::string TemporaryName(const std::string& target) {
  static std::atomic<unsigned> count{0};
  return fmt::format("{}.{}.{}.tmp", target, getpid(), ++count);
}

int WriteAll(int descriptor, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return 0;
}

}  // namespace

OutputFiles::~OutputFiles() {
  for (const File& file : files_) {
    if (file.descriptor >= 0) close(file.descriptor);
    if (!file.temporary.empty()) unlink(file.temporary.c_str());
  }
}

// Opens the file; returns 0 or an errno.
int OutputFiles::Open(File& file) {
  struct stat info = {};
  const bool exists = stat(file.path.c_str(), &info) == 0;
  if (!exists && errno != ENOENT) return errno;
  if (exists && S_ISDIR(info.st_mode)) return EISDIR;
  if (InPlace(file.path, info, exists)) {
    file.descriptor = open(file.path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kNewFile);
    return file.descriptor < 0 ? errno : 0;
  }
  // A file that a user may not write may not be replaced by that user.
  if (exists && access(file.path.c_str(), W_OK) != 0) return errno;
  std::error_code error;
  const fs::path real = fs::canonical(file.path, error);
  file.target = error ? file.path : real.string();
  file.descriptor = open(FolderOf(file.target).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kNewFile);
  while (file.descriptor < 0) {  // not every file system has files without a name
    std::string name = TemporaryName(file.target);
    file.descriptor = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kNewFile);
    if (file.descriptor >= 0) file.temporary = std::move(name);
    else if (errno != EEXIST) return errno;
  }
  if (exists) (void)!fchmod(file.descriptor, info.st_mode & 07777);
  return 0;
}

Status OutputFiles::Add(const std::string& path, std::span<const Bytes> pieces) {
  File& file = files_.emplace_back();
  file.path = path;
  int error = Open(file);
  for (const Bytes& piece : pieces) {
    if (error == 0) error = WriteAll(file.descriptor, piece);
  }
  const bool is_durable = durability_ == Durability::kPower && !file.target.empty();
  if (error == 0 && is_durable && fdatasync(file.descriptor) != 0) {
    const bool cannot = errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP;
    if (!cannot) error = errno;  // else the file system has no such thing
  }
  // A full disk may show only when a file is closed. A file without a name is kept open until it
  // has one.
  if (error == 0 && (file.target.empty() || !file.temporary.empty())) {
    if (close(file.descriptor) != 0) error = errno;
    file.descriptor = -1;
  }
  return error == 0 ? Status::Ok() : CannotWrite(path, error);
}

Status OutputFiles::Add(const std::string& path, const std::string& text) {
  return Add(path, {Bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size())});
}

// Gives a complete file without a name the name of a temporary one. False: errno says why not.
bool OutputFiles::Name(File& file) {
  const std::string open_file = fmt::format("/proc/self/fd/{}", file.descriptor);
  for (;;) {
    std::string name = TemporaryName(file.target);
    if (linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      file.temporary = std::move(name);
      break;
    }
    if (errno != EEXIST) return false;
  }
  return close(std::exchange(file.descriptor, -1)) == 0;
}

Status OutputFiles::Commit() {
  for (File& file : files_) {
    if (!file.target.empty() && file.temporary.empty() && !Name(file)) {
      return CannotWrite(file.path, errno);
    }
  }
  for (size_t i = 0; i < files_.size(); ++i) {
    if (files_[i].target.empty() || Place(files_[i])) continue;
    const int error = errno;
    for (size_t before = i; before > 0; --before) TakeBack(files_[before - 1]);
    return CannotWrite(files_[i].path, error);
  }
  if (durability_ == Durability::kPower) SyncFolders();
  for (const File& file : files_) {  // what stood there
    if (!file.temporary.empty()) unlink(file.temporary.c_str());
  }
  files_.clear();
  return Status::Ok();
}

// Gives a complete file its name. What stood there takes the temporary one meanwhile, so that it
// can come back. False: errno says why not.
bool OutputFiles::Place(File& file) {
  const char *from = file.temporary.c_str(), *to = file.target.c_str();
  struct stat info = {};
  const bool exists = lstat(to, &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) {
    errno = EISDIR;
    return false;
  }
  if (exists && renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) == 0) {
    file.placed = File::Placed::kExchanged;
    return true;
  }
  if (exists && errno != EINVAL && errno != ENOSYS) return false;  // else it cannot exchange files
  if (std::rename(from, to) != 0) return false;
  file.placed = exists ? File::Placed::kNot : File::Placed::kNew;
  file.temporary.clear();
  return true;
}

// Brings the new names to the disk, before what they had is removed. Where a file system cannot, it
// is left as it is.
void OutputFiles::SyncFolders() const {
  for (const File& file : files_) {
    if (file.target.empty()) continue;
    const int folder = open(FolderOf(file.target).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) continue;
    (void)fsync(folder);
    close(folder);
  }
}

// Puts back what stood under the name of a file, as far as it is still there.
void OutputFiles::TakeBack(File& file) {
  if (file.placed == File::Placed::kNew) unlink(file.target.c_str());
  if (file.placed != File::Placed::kExchanged) return;
  renameat2(AT_FDCWD, file.temporary.c_str(), AT_FDCWD, file.target.c_str(), RENAME_EXCHANGE);
}

Status CheckWritable(const std::string& path) {
  struct stat info = {};
  const bool exists = stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) return CannotWrite(path, EISDIR);
  if (exists && access(path.c_str(), W_OK) != 0) return CannotWrite(path, errno);
  if (InPlace(path, info, exists)) return Status::Ok();
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  const std::string folder = FolderOf(error ? path : real.string());
  return access(folder.c_str(), W_OK) == 0 ? Status::Ok() : CannotWrite(path, errno);
}

}  // namespace cgraph
