// Reading a file that may be anything: a device that never ends, a folder, 10 GB.
#ifndef CGRAPH_COMPILER_BASE_READ_FILE_H_
#define CGRAPH_COMPILER_BASE_READ_FILE_H_

#include <cstdint>
#include <string>
#include <system_error>

namespace cgraph {

// All of the file, or its first `most` + 1 bytes when it has more: whoever asks refuses that.
std::error_code ReadFile(const std::string& path, int64_t most, std::string& text);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_BASE_READ_FILE_H_
