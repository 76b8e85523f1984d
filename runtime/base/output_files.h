// OutputFiles: files that are written whole or not at all. They are written into temporary files,
// which take their names one right after the other at the end, when all are complete. A full disk,
// an error or a kill before that leaves what stood there before; an error meanwhile puts back what
// stood there, where the file system can exchange two files. No call gives several files their
// names at once: a kill meanwhile leaves new files under the first names beside old ones under the
// others, each of them whole.
//
// Files that are durable are on the disk when they take their names: a loss of power leaves the old
// one or the new one, too.
//
// A file without a name that could be replaced is written in place: a pipe, a device, anything
// named through /dev or /proc.
#ifndef CGRAPH_RUNTIME_BASE_OUTPUT_FILES_H_
#define CGRAPH_RUNTIME_BASE_OUTPUT_FILES_H_

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace cgraph {

class OutputFiles {
 public:
  using Bytes = std::span<const uint8_t>;

  enum class Durability { kProcess, kPower };  // what a file outlives
  explicit OutputFiles(Durability durability = Durability::kProcess) : durability_(durability) {}
  OutputFiles(const OutputFiles&) = delete;
  OutputFiles& operator=(const OutputFiles&) = delete;
  ~OutputFiles();  // removes what has not taken its name

  // Writes the pieces one after the other, for `path`. kNotFound with the system's reason.
  Status Add(const std::string& path, std::span<const Bytes> pieces);
  Status Add(const std::string& path, std::initializer_list<Bytes> pieces) {
    return Add(path, std::span(pieces.begin(), pieces.size()));
  }
  Status Add(const std::string& path, const std::string& text);
  // Gives every file its name, in the order in which they were added.
  Status Commit();

 private:
  struct File {
    std::string path;       // as it was given, for messages
    std::string target;     // where links lead to; empty: written in place
    std::string temporary;  // beside it; empty while the file has no name at all
    enum class Placed { kNot, kNew, kExchanged } placed = Placed::kNot;  // under its own name
    int descriptor = -1;
  };
  int Open(File& file);
  bool Name(File& file);
  static bool Place(File& file);
  static void TakeBack(File& file);
  void SyncFolders() const;

  const Durability durability_;
  std::vector<File> files_;
};

// Returns kNotFound where OutputFiles could not write `path`; called before the work whose result
// goes there.
Status CheckWritable(const std::string& path);

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_BASE_OUTPUT_FILES_H_
