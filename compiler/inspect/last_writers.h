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
    ranges_.erase(ranges_.lower_bound(begin), ranges_.lower_bound(end));
    ranges_[begin] = {end, writer};
  }

  // visit(writer) for each range of [begin, end) that somebody wrote, in order.
  template <typename Visit>
  void Read(uint64_t begin, uint64_t end, Visit visit) const {
    auto range = ranges_.upper_bound(begin);
    if (range != ranges_.begin() && std::prev(range)->second.end > begin) {
      --range;
    }
    for (; range != ranges_.end() && range->first < end; ++range) {
      visit(range->second.writer);
    }
  }

  void Clear() { ranges_.clear(); }

 private:
  struct ByteRange {
    uint64_t end;
    Writer writer;
  };

  void SplitAt(uint64_t at) {
    const auto after = ranges_.upper_bound(at);
    if (after == ranges_.begin()) {
      return;
    }
    const auto range = std::prev(after);
    if (range->first < at && range->second.end > at) {
      ranges_[at] = range->second;
      range->second.end = at;
    }
  }

  std::map<uint64_t, ByteRange> ranges_;  // by first byte
};

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_LAST_WRITERS_H_
