#include "runtime/transport/mpi/collective/sections.h"

#include <algorithm>

namespace cgraph::transport {
namespace {

constexpr uint64_t kSliceLine = 64;  // which is a whole number of elements of every dtype

uint64_t SliceBytes(uint32_t members, uint64_t bytes) {
  const uint64_t lines = bytes / kSliceLine + (bytes % kSliceLine != 0);
  return (lines / members + (lines % members != 0)) * kSliceLine;
}

}  // namespace

Division DivisionOf(const CollectiveShape& shape, size_t tensor) {
  if (TraitsOf(shape.kind).divides()) return Division::kEqual;
  const bool sliced = shape.kind == CollectiveKind::kAllReduce &&
                      shape.tensors[tensor].bytes >= kSlicedBytes;
  return sliced ? Division::kSlices : Division::kWhole;
}

ByteRange SectionRange(Division division, uint32_t members, uint32_t member, uint64_t bytes) {
  if (division == Division::kWhole) return {0, bytes};
  if (division == Division::kEqual) return {member * (bytes / members), bytes / members};
  const uint64_t each = SliceBytes(members, bytes), begin = std::min(bytes, member * each);
  return {begin, std::min(each, bytes - begin)};
}

uint64_t MostSectionBytes(Division division, uint32_t members, uint64_t bytes) {
  if (division == Division::kSlices) return std::min(bytes, SliceBytes(members, bytes));
  return SectionRange(division, members, 0, bytes).bytes;
}

std::vector<Section> SectionsFor(const CollectiveShape& shape, std::span<const uint32_t> ranks,
                             uint32_t from, uint32_t rank) {
  const CollectiveTraits& traits = TraitsOf(shape.kind);
  std::vector<Section> sections;
  for (uint32_t t = 0; t < shape.tensors.size() && traits.gives(from, shape.root); ++t) {
    const Division division = DivisionOf(shape, t);
    for (uint32_t member = 0; member < shape.members; ++member) {
      if (ranks[member] != rank || !traits.gets(member, shape.root)) continue;
      sections.push_back({t, division == Division::kWhole ? 0 : member, division});
      if (division == Division::kWhole) break;  // one is enough for all members there
    }
  }
  return sections;
}

std::vector<Section> SlicesOf(const CollectiveShape& shape, uint32_t from) {
  std::vector<Section> sections;
  for (uint32_t t = 0; t < shape.tensors.size(); ++t) {
    if (DivisionOf(shape, t) == Division::kSlices) sections.push_back({t, from, Division::kSlices});
  }
  return sections;
}

}  // namespace cgraph::transport
