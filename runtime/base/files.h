// Whole texts from files and into them, and names that mean one file.
#ifndef CGRAPH_RUNTIME_BASE_FILES_H_
#define CGRAPH_RUNTIME_BASE_FILES_H_

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "runtime/base/status.h"

namespace cgraph {

// Returns kNotFound when the file cannot be read, kInvalid when it has more than `most` bytes.
Result<std::string> ReadText(const std::string& path, int64_t most);

// Replaces the file, whole or not at all. kNotFound when it cannot be written.
Status WriteText(const std::string& path, const std::string& text);

// Suggests, for a file that is not there, a file of its folder with one of these endings: that of
// this name, with or without `lib`, or one that is spelt nearly so: " (did you mean
// `x/models.py`?)"; or empty.
std::string NearFileHint(const std::string& path, std::initializer_list<std::string_view> endings);

// ---- names that mean one file: what a command writes must be none of what it reads, and no two
// results go into one file

// NamedFile: a file as the command line names it: flag "--output x=" or "--trace ", or "" for the
// FILE itself.
struct NamedFile {
  std::string flag, path;
};

// Returns the sentence about the first file of `written` that is also one of `read` or stands
// earlier in `written`; empty when there is none. Files are the same by device and inode or, where
// the file does not exist yet, by path. A pipe or a device is no file that could be lost.
std::string Overwriting(std::span<const NamedFile> read, std::span<const NamedFile> written);

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_BASE_FILES_H_
