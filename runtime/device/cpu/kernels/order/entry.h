// Entry: an element of a column that is put in order, as numbers that are compared as integers.
//
// The order is NumPy's: -0 and 0 are equal, and a NaN is greater than every number. Equal elements
// keep theirs, by their positions, so that no two entries are equal and every way to sort gives the
// same.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ORDER_ENTRY_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ORDER_ENTRY_H_

#include <bit>
#include <cstdint>
#include <type_traits>

#include "runtime/device/numbers/half.h"

namespace cgraph::device {

// Elements of up to four bytes: the key in the upper half, the position in the lower one.
struct ShortEntry {
  using Key = uint32_t;
  uint64_t bits;
  static constexpr ShortEntry Of(Key key, uint32_t position) {
    return {static_cast<uint64_t>(key) << 32 | position};
  }
  static constexpr ShortEntry Last() { return {~uint64_t{0}}; }  // behind all others
  constexpr uint32_t key() const { return static_cast<uint32_t>(bits >> 32); }
  constexpr uint32_t position() const { return static_cast<uint32_t>(bits); }
  constexpr bool operator<(const ShortEntry& other) const { return bits < other.bits; }
};
// Elements of eight bytes.
struct LongEntry {
  using Key = uint64_t;
  uint64_t bits, place;
  static constexpr LongEntry Of(Key key, uint32_t position) { return {key, position}; }
  constexpr uint64_t key() const { return bits; }
  static constexpr LongEntry Last() { return {~uint64_t{0}, ~uint64_t{0}}; }
  constexpr uint32_t position() const { return static_cast<uint32_t>(place); }
  constexpr bool operator<(const LongEntry& other) const {
    return bits != other.bits ? bits < other.bits : place < other.place;
  }
};
template <typename T>
using EntryOf = std::conditional_t<sizeof(T) == 8, LongEntry, ShortEntry>;

// Returns a number that is the greater the greater the element is.
template <typename T>
constexpr typename EntryOf<T>::Key KeyOf(T x) {
  using Key = typename EntryOf<T>::Key;
  constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);
  if constexpr (kIsHalf<T>) {
    return KeyOf(static_cast<float>(x));
  } else if constexpr (std::is_floating_point_v<T>) {
    if (x != x) return ~Key{0};
    if (x == 0) return kSign;
    const Key bits = std::bit_cast<Key>(x);
    return (bits & kSign) != 0 ? ~bits : bits | kSign;
  } else {
    return static_cast<Key>(x) + (std::is_signed_v<T> ? kSign : 0);
  }
}
template <typename T>
constexpr EntryOf<T> EntryFor(T x, int64_t position, bool descending) {
  const auto key = KeyOf(x);
  return EntryOf<T>::Of(descending ? ~key : key, static_cast<uint32_t>(position));
}

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ORDER_ENTRY_H_
