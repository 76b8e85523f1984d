// Reading a file that may be anything: a device that never ends, a folder, 10 GB. It is read in
// pieces, since a size that the file system reports may be a lie (a pipe, /proc).
#ifndef CGRAPH_RUNTIME_STATUS_READ_FILE_H_
#define CGRAPH_RUNTIME_STATUS_READ_FILE_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <system_error>

namespace cgraph {

// Hands over piece after piece, until the file ends or `take` has enough and returns false.
std::error_code ReadPieces(const std::string& path,
                           const std::function<bool(std::span<const char>)>& take);

// All of the file, or its first `most` + 1 bytes when it has more: whoever asks refuses that.
std::error_code ReadFile(const std::string& path, int64_t most, std::string& text);

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_STATUS_READ_FILE_H_
