// The texts that commands read and write.
#ifndef CGRAPH_COMPILER_COMMAND_FILES_H_
#define CGRAPH_COMPILER_COMMAND_FILES_H_

#include <cstdint>
#include <string>

#include "runtime/status/status.h"

namespace cgraph::command {

// Whether writing `out` would destroy `in`, the file that the command reads; says so.
bool WritesOver(const std::string& out, const std::string& in);

// WriteText(), but that "" and "-" are standard output.
Status WriteOutput(const std::string& path, const std::string& text);

inline constexpr int64_t kMaxTextBytes = int64_t{1} << 30;  // a plan as JSON; others are small

}  // namespace cgraph::command

#endif  // CGRAPH_COMPILER_COMMAND_FILES_H_
