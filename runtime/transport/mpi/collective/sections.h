// Sections: which bytes of a member's input go to which other rank in a collective between ranks
// that share no memory. What is said here depends on the shape alone, so all ranks say the same;
// nothing here sends.
#ifndef CGRAPH_RUNTIME_TRANSPORT_MPI_COLLECTIVE_SECTIONS_H_
#define CGRAPH_RUNTIME_TRANSPORT_MPI_COLLECTIVE_SECTIONS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/transport/collective.h"

namespace cgraph::transport {

// Division: what of an input a member needs that gets a result.
enum class Division : uint8_t {
  kWhole,
  kEqual,   // the member's one of equal parts, which make its own result
  kSlices,  // the member's one of slices: it reduces them, and sends the others what they make
};

// An all_reduce of inputs of at least so many bytes is divided into slices: of n ranks each sends
// 2(n - 1)/n of an input instead of n - 1 inputs. It has two rounds of messages instead of one, so
// what is small is not divided.
inline constexpr uint64_t kSlicedBytes = 64 << 10;

// ByteRange: some bytes of an input or of a result.
struct ByteRange {
  uint64_t begin = 0, bytes = 0;
};

Division DivisionOf(const CollectiveShape& shape, size_t tensor);
// Returns the section for `member` of an input of `bytes`. Slices end at cache lines, so the last
// ones may be shorter than others, or empty.
ByteRange SectionRange(Division division, uint32_t members, uint32_t member, uint64_t bytes);
// Returns the most bytes that a member's section has of inputs of at most `bytes`.
uint64_t MostSectionBytes(Division division, uint32_t members, uint64_t bytes);

// Section: some of a tensor in a message; `part`: the member whose part of the division it is, 0
// where it is the whole.
struct Section {
  uint32_t tensor = 0, part = 0;
  Division division = Division::kWhole;

  bool operator==(const Section&) const = default;
};

// Returns what of the input of member `from` another rank needs. `ranks`: of each member.
std::vector<Section> SectionsFor(const CollectiveShape& shape, std::span<const uint32_t> ranks,
                             uint32_t from, uint32_t rank);
// Returns what all other ranks need once member `from` has reduced its slices.
std::vector<Section> SlicesOf(const CollectiveShape& shape, uint32_t from);

}  // namespace cgraph::transport

#endif  // CGRAPH_RUNTIME_TRANSPORT_MPI_COLLECTIVE_SECTIONS_H_
