#include "runtime/channel/messages/parts.h"

#include <algorithm>

namespace cgraph::channel {
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

Range PartFor(Division division, uint32_t members, uint32_t member, uint64_t bytes) {
  if (division == Division::kWhole) return {0, bytes};
  if (division == Division::kEqual) return {member * (bytes / members), bytes / members};
  const uint64_t each = SliceBytes(members, bytes), begin = std::min(bytes, member * each);
  return {begin, std::min(each, bytes - begin)};
}

uint64_t MostPartBytes(Division division, uint32_t members, uint64_t bytes) {
  if (division == Division::kSlices) return std::min(bytes, SliceBytes(members, bytes));
  return PartFor(division, members, 0, bytes).bytes;
}

std::vector<Piece> PiecesFor(const CollectiveShape& shape, std::span<const uint32_t> ranks,
                             uint32_t from, uint32_t rank) {
  const CollectiveTraits& traits = TraitsOf(shape.kind);
  std::vector<Piece> pieces;
  for (uint32_t t = 0; t < shape.tensors.size() && traits.gives(from, shape.root); ++t) {
    const Division division = DivisionOf(shape, t);
    for (uint32_t member = 0; member < shape.members; ++member) {
      if (ranks[member] != rank || !traits.gets(member, shape.root)) continue;
      pieces.push_back({t, division == Division::kWhole ? 0 : member, division});
      if (division == Division::kWhole) break;  // one is enough for all members there
    }
  }
  return pieces;
}

std::vector<Piece> SlicesOf(const CollectiveShape& shape, uint32_t from) {
  std::vector<Piece> pieces;
  for (uint32_t t = 0; t < shape.tensors.size(); ++t) {
    if (DivisionOf(shape, t) == Division::kSlices) pieces.push_back({t, from, Division::kSlices});
  }
  return pieces;
}

}  // namespace cgraph::channel
