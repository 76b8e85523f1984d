// Whole texts from files and into them.
#ifndef CGRAPH_RUNTIME_STATUS_TEXT_FILE_H_
#define CGRAPH_RUNTIME_STATUS_TEXT_FILE_H_

#include <cstdint>
#include <string>

#include "runtime/status/status.h"

namespace cgraph {

// kNotFound when it cannot be read, kInvalid when it has more than `most` bytes.
Result<std::string> ReadText(const std::string& path, int64_t most);

// Instead of what is there, whole or not at all. kNotFound when it cannot be written.
Status WriteText(const std::string& path, const std::string& text);

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_STATUS_TEXT_FILE_H_
