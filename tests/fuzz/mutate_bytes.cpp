// Changes of bytes, where libFuzzer's own are not linked: bytes and pieces are replaced, doubled,
// moved and removed, and small numbers become the ones at which things break.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>

namespace {

size_t ChangeOnce(uint8_t* data, size_t size, size_t max_size, std::minstd_rand& random) {
  const auto below = [&](size_t limit) { return random() % limit; };
  if (size == 0 || (size < max_size && below(8) == 0)) {
    if (max_size == 0) return 0;
    const size_t at = below(size + 1);
    std::memmove(data + at + 1, data + at, size - at);
    data[at] = static_cast<uint8_t>(random());
    return size + 1;
  }
  const size_t at = below(size), length = 1 + below(std::min<size_t>(size - at, 16));
  switch (below(6)) {
    case 0: data[at] = static_cast<uint8_t>(random()); return size;
    case 1: data[at] ^= static_cast<uint8_t>(1u << below(8)); return size;
    case 2: {
      constexpr uint64_t kNumbers[] = {0, 1, 0x7f, 0x80, 0xffff, 0x7fffffff, 0xffffffff,
                                       uint64_t{1} << 62, INT64_MAX, UINT64_MAX};
      const uint64_t number = kNumbers[below(std::size(kNumbers))];
      std::memcpy(data + at, &number, std::min<size_t>(size_t{1} << below(4), size - at));
      return size;
    }
    case 3: std::memmove(data + below(size - length + 1), data + at, length); return size;
    case 4: {
      const size_t room = std::min(length, max_size - size);
      std::memmove(data + at + room, data + at, size - at);
      return size + room;
    }
    default: std::memmove(data + at, data + at + length, size - at - length); return size - length;
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size) {
  static std::minstd_rand random(1);  // the same changes every time
  for (size_t changes = 1 + random() % 4; changes > 0; --changes) {
    size = ChangeOnce(data, size, max_size, random);
  }
  return size;
}
