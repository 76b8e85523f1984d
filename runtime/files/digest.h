// Digest64: 64 bits that say whether bytes are the same, by the algorithm of xxHash (XXH64, seed 0,
// https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md). It finds files that differ by
// accident, not those that were made to look alike.
#ifndef CGRAPH_RUNTIME_FILES_DIGEST_H_
#define CGRAPH_RUNTIME_FILES_DIGEST_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace cgraph::files {

namespace digest {

inline constexpr uint64_t kPrimes[] = {0x9e3779b185ebca87, 0xc2b2ae3d27d4eb4f, 0x165667b19e3779f9,
                                       0x85ebca77c2b2ae63, 0x27d4eb2f165667c5};

template <typename Word>
uint64_t WordAt(const uint8_t* at) {
  Word word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}
constexpr uint64_t Round(uint64_t lane, uint64_t word) {
  return std::rotl(lane + word * kPrimes[1], 31) * kPrimes[0];
}

}  // namespace digest

inline uint64_t Digest64(std::span<const uint8_t> bytes) {
  using namespace digest;
  const uint8_t* at = bytes.data();
  size_t left = bytes.size();
  uint64_t sum = kPrimes[4];
  if (left >= 32) {
    uint64_t lanes[] = {kPrimes[0] + kPrimes[1], kPrimes[1], 0, 0 - kPrimes[0]};
    for (; left >= 32; left -= 32) {
      for (uint64_t& lane : lanes) {
        lane = Round(lane, WordAt<uint64_t>(at));
        at += sizeof(uint64_t);
      }
    }
    sum = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) +
          std::rotl(lanes[3], 18);
    for (uint64_t lane : lanes) sum = (sum ^ Round(0, lane)) * kPrimes[0] + kPrimes[3];
  }
  sum += bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    sum = std::rotl(sum ^ Round(0, WordAt<uint64_t>(at)), 27) * kPrimes[0] + kPrimes[3];
  }
  for (; left >= 4; left -= 4, at += 4) {
    sum = std::rotl(sum ^ WordAt<uint32_t>(at) * kPrimes[0], 23) * kPrimes[1] + kPrimes[2];
  }
  for (; left > 0; --left, ++at) sum = std::rotl(sum ^ *at * kPrimes[4], 11) * kPrimes[0];
  sum = (sum ^ sum >> 33) * kPrimes[1];
  sum = (sum ^ sum >> 29) * kPrimes[2];
  return sum ^ sum >> 32;
}

}  // namespace cgraph::files

#endif  // CGRAPH_RUNTIME_FILES_DIGEST_H_
