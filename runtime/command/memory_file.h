// MemoryFile: a file without a name that this process shares with one that it starts. Nothing is
// left over, however either ends.
#ifndef CGRAPH_RUNTIME_COMMAND_MEMORY_FILE_H_
#define CGRAPH_RUNTIME_COMMAND_MEMORY_FILE_H_

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace cgraph::command {

class MemoryFile {
 public:
  explicit MemoryFile(const char* name) : descriptor_(memfd_create(name, MFD_CLOEXEC)) {}
  ~MemoryFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  int descriptor() const { return descriptor_; }  // -1: there is none, errno says why
  std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

  // Fills it for another process, which reads from its beginning.
  bool Write(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t count = write(descriptor_, text.data(), text.size());
      if (count <= 0 && errno != EINTR) return false;
      text.remove_prefix(static_cast<size_t>(std::max<ssize_t>(count, 0)));
    }
    return lseek(descriptor_, 0, SEEK_SET) == 0;
  }
  // Returns all that is in it.
  std::string Read() const {
    std::string text;
    char bytes[1 << 16];
    lseek(descriptor_, 0, SEEK_SET);
    for (ssize_t count; (count = read(descriptor_, bytes, sizeof(bytes))) > 0;) {
      text.append(bytes, static_cast<size_t>(count));
    }
    return text;
  }

 private:
  const int descriptor_;
};

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_MEMORY_FILE_H_
