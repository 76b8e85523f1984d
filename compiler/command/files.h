// The texts that commands read and write.
#ifndef CGRAPH_COMPILER_COMMAND_FILES_H_
#define CGRAPH_COMPILER_COMMAND_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/status/same_file.h"
#include "runtime/status/status.h"

namespace cgraph::command {

// Whether a file would be lost: one that is read, or one of two results under one name; says so.
// Names that are empty or "-" are no files.
bool LosesFiles(const std::vector<NamedFile>& read, const std::vector<NamedFile>& written);

// WriteText(), but that "" and "-" are standard output.
Status WriteOutput(const std::string& path, const std::string& text);

inline constexpr int64_t kMaxTextBytes = int64_t{1} << 30;  // a plan as JSON; others are small

}  // namespace cgraph::command

#endif  // CGRAPH_COMPILER_COMMAND_FILES_H_
