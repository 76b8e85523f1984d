// Who wrote each byte of one buffer last.
#ifndef CGRAPH_COMPILER_INSPECT_LAST_WRITERS_H_
#define CGRAPH_COMPILER_INSPECT_LAST_WRITERS_H_

#include <cstdint>
#include <iterator>
#include <map>

namespace cgraph {

template <typename Writer>
class LastWriters {
 public:
  // Of bytes [begin, end).
  void Write(uint64_t begin, uint64_t end, Writer writer) {
    if (begin >= end) {
      return;
    }
    SplitAt(begin);
    SplitAt(end);
    pieces_.erase(pieces_.lower_bound(begin), pieces_.lower_bound(end));
    pieces_[begin] = {end, writer};
  }

  // visit(writer) for each piece of [begin, end) that somebody wrote, in order.
  template <typename Visit>
  void Read(uint64_t begin, uint64_t end, Visit visit) const {
    auto piece = pieces_.upper_bound(begin);
    if (piece != pieces_.begin() && std::prev(piece)->second.end > begin) {
      --piece;
    }
    for (; piece != pieces_.end() && piece->first < end; ++piece) {
      visit(piece->second.writer);
    }
  }

  void Clear() { pieces_.clear(); }

 private:
  struct Piece {
    uint64_t end;
    Writer writer;
  };

  void SplitAt(uint64_t at) {
    const auto after = pieces_.upper_bound(at);
    if (after == pieces_.begin()) {
      return;
    }
    const auto piece = std::prev(after);
    if (piece->first < at && piece->second.end > at) {
      pieces_[at] = piece->second;
      piece->second.end = at;
    }
  }

  std::map<uint64_t, Piece> pieces_;  // by first byte
};

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_LAST_WRITERS_H_
