// File: a file that is open for reading; its owner closes it, and errors are Status.
#ifndef CGRAPH_RUNTIME_FILES_FILE_H_
#define CGRAPH_RUNTIME_FILES_FILE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "runtime/base/read_file.h"
#include "runtime/base/status.h"

namespace cgraph::files {

class File {
 public:
  // Opens a file; "-" is standard input. kNotFound with the system's reason. Open() never waits for
  // the writer of a pipe. Read() waits, for each byte as long as `patience`, and ends with
  // kTimeout.
  static Result<File> Open(const std::string& path, Patience patience = kForever);
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  const std::string& path() const { return path_; }
  // Returns no size for a pipe, a terminal or a device, nor for standard input ("-").
  std::optional<uint64_t> size() const { return size_; }
  int64_t modified_ns() const { return modified_ns_; }  // when, since the epoch

  // Reads the next bytes: fewer than asked for only at the end.
  Result<size_t> Read(std::span<uint8_t> out);
  // Reads exactly these bytes of a file that has a size: kInvalid when it has become shorter.
  Status ReadAt(uint64_t offset, std::span<uint8_t> out) const;

 private:
  File() = default;
  int descriptor_ = -1;
  Patience patience_ = kForever;
  std::string path_;
  std::optional<uint64_t> size_;
  int64_t modified_ns_ = 0;
};

// Says that a file is a pointer of Git LFS, by its first bytes; empty: it is none.
std::string LfsPointerText(std::span<const uint8_t> begin);

}  // namespace cgraph::files

#endif  // CGRAPH_RUNTIME_FILES_FILE_H_
