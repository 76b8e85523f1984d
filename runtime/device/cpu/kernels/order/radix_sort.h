// RadixSort: entries in order of their keys, digit by digit from the last (Hollerith's). It is
// stable, so entries whose positions rise beforehand come out as comparing would have them.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ORDER_RADIX_SORT_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ORDER_RADIX_SORT_H_

#include <algorithm>
#include <cstdint>
#include <utility>

#include "runtime/device/cpu/kernels/order/entry.h"

namespace cgraph::device {

template <typename Entry>
class RadixSort {
 public:
  // Fewer entries are sorted faster by comparing. Measured with columns that were not sorted yet:
  // a processor learns the branches of one that it sorts again.
  static constexpr int64_t kLeast = 8 * sizeof(Entry);

  // Sorts `count` entries, with room for as many more.
  static void Run(Entry* entries, Entry* room, int64_t count) {
    int64_t starts[kPasses][kValues] = {};
    for (int64_t i = 0; i < count; ++i) {
      for (int pass = 0; pass < kPasses; ++pass) ++starts[pass][Digit(entries[i], pass)];
    }
    Entry* from = entries;
    Entry* to = room;
    for (int pass = 0; pass < kPasses; ++pass) {
      int64_t* start = starts[pass];
      if (start[Digit(from[0], pass)] == count) continue;  // all have the same digit
      int64_t sum = 0;
      for (int value = 0; value < kValues; ++value) sum += std::exchange(start[value], sum);
      for (int64_t i = 0; i < count; ++i) to[start[Digit(from[i], pass)]++] = from[i];
      std::swap(from, to);
    }
    if (from != entries) std::copy(from, from + count, entries);
  }

 private:
  using Key = typename Entry::Key;
  static constexpr int kDigitBits = 8, kValues = 1 << kDigitBits;
  static constexpr int kPasses = static_cast<int>(8 * sizeof(Key)) / kDigitBits;

  static int Digit(const Entry& entry, int pass) {
    return static_cast<int>(entry.key() >> (pass * kDigitBits)) & (kValues - 1);
  }
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ORDER_RADIX_SORT_H_
