// Source texts and ranges in them.
#ifndef CGRAPH_COMPILER_BASE_SOURCE_H_
#define CGRAPH_COMPILER_BASE_SOURCE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "compiler/base/ids.h"

namespace cgraph {

CGRAPH_ID(SourceId, "source")

// Bytes [begin, end) of one source. A range of the compiler's own making has no source.
struct Range {
  SourceId source;
  uint32_t begin = 0;
  uint32_t end = 0;

  bool valid() const { return source.valid(); }
  friend bool operator==(const Range&, const Range&) = default;
};

enum class SourceKind : uint8_t {
  kFile,
  kLibrary,  // the language's own; its path is shown as `<std>/tensor.cgraph`
  kFlag,     // the value of a flag, which is its path
};

struct Source {
  std::string path;  // as the user wrote it
  std::string text;
  SourceKind kind = SourceKind::kFile;
};

struct LineColumn {
  uint32_t line = 0;    // from 1
  uint32_t column = 0;  // from 1, in bytes
};

// Sources: all texts of one compilation. Texts never move or change once added.
class Sources {
 public:
  SourceId Add(std::string path, std::string text, SourceKind kind = SourceKind::kFile);
  const Source& operator[](SourceId id) const { return *sources_[id]; }
  LineColumn Locate(SourceId id, uint32_t offset) const;
  // Returns the whole line that `offset` is in, without its end.
  Range LineAt(SourceId id, uint32_t offset) const;
  std::string Text(const Range& range) const;
  size_t size() const { return sources_.size(); }

 private:
  Table<SourceId, std::unique_ptr<Source>> sources_;
  Table<SourceId, std::vector<uint32_t>> line_starts_;
};

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_BASE_SOURCE_H_
