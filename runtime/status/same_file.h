// Two names of one file: what a command writes must be none of what it reads, and no two results
// go into one file.
#ifndef CGRAPH_RUNTIME_STATUS_SAME_FILE_H_
#define CGRAPH_RUNTIME_STATUS_SAME_FILE_H_

#include <span>
#include <string>

namespace cgraph {

// A file as the command line names it: flag "--output x=" or "--trace ", or "" for the FILE itself.
struct NamedFile {
  std::string flag, path;
};

// The sentence about the first file of `written` that is also one of `read` or stands earlier in
// `written`; empty when there is none. Files are the same by device and inode, and where there is
// none yet, by path. A pipe or a device is no file that could be lost.
std::string Overwriting(std::span<const NamedFile> read, std::span<const NamedFile> written);

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_STATUS_SAME_FILE_H_
