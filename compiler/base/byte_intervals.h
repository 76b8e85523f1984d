// What is known of each byte of a buffer, such as its last writer, kept by intervals.
#ifndef CGRAPH_COMPILER_BASE_BYTE_INTERVALS_H_
#define CGRAPH_COMPILER_BASE_BYTE_INTERVALS_H_

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

namespace cgraph {

template <typename T>
class ByteIntervals {
 public:
  // Sets all bytes of [begin, end) to `value`.
  void Assign(uint64_t begin, uint64_t end, T value) {
    if (begin >= end) return;
    SplitAt(begin);
    SplitAt(end);
    intervals_.erase(intervals_.lower_bound(begin), intervals_.lower_bound(end));
    intervals_[begin] = {end, std::move(value)};
  }

  // visit(T&) for the intervals that make up [begin, end), in order; T() where nothing is known.
  template <typename Visit>
  void Update(uint64_t begin, uint64_t end, Visit visit) {
    if (begin >= end) return;
    SplitAt(begin);
    SplitAt(end);
    auto at = intervals_.lower_bound(begin);
    for (uint64_t byte = begin; byte < end; ++at) {
      if (at == intervals_.end() || at->first > byte) {
        const uint64_t until = at == intervals_.end() ? end : std::min(end, at->first);
        at = intervals_.insert(at, {byte, {until, T()}});
      }
      visit(at->second.value);
      byte = at->second.end;
    }
  }

  // visit(const T&) for each interval of which something is known and that meets [begin, end), in
  // order.
  template <typename Visit>
  void ForEach(uint64_t begin, uint64_t end, Visit visit) const {
    auto at = intervals_.upper_bound(begin);
    if (at != intervals_.begin() && std::prev(at)->second.end > begin) --at;
    for (; at != intervals_.end() && at->first < end; ++at) visit(at->second.value);
  }

  void Clear() { intervals_.clear(); }

 private:
  struct Interval {
    uint64_t end;
    T value;
  };

  void SplitAt(uint64_t byte) {
    const auto after = intervals_.lower_bound(byte);
    if (after == intervals_.begin()) return;
    Interval& before = std::prev(after)->second;
    if (before.end <= byte) return;
    intervals_.insert(after, {byte, before});
    before.end = byte;
  }

  std::map<uint64_t, Interval> intervals_;  // by first byte
};

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_BASE_BYTE_INTERVALS_H_
