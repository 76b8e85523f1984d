#include "runtime/transport/mpi/collective/member_results.h"

#include <algorithm>

#include "runtime/device/memory.h"
#include "runtime/plan/kinds.h"

namespace cgraph::transport {
namespace {

// A tile of a slice is computed once and copied to the members here while it is in the cache.
constexpr uint64_t kSliceTileBytes = 16 << 10;

}  // namespace

MemberResults::MemberResults(const CollectiveShape& shape, const MemberRounds& rounds,
                             std::span<const std::unique_ptr<RemoteMember>> remote)
    : shape_(shape),
      traits_(TraitsOf(shape.kind)),
      rounds_(rounds),
      remote_(remote),
      sources_(size_t{shape.members} * shape.members) {
  for (uint32_t t = 0; t < shape.tensors.size(); ++t) {
    divisions_.push_back(DivisionOf(shape, t));
    across_.push_back(shape.reduction ? device::FindAcross(shape.tensors[t].dtype, *shape.reduction)
                                      : nullptr);
  }
}

// Returns what `reader`, a member here, needs of a tensor of `member`. Sizes are equal at all
// members unless a plan that is not proved tells them different extents; then some have less than
// others look for.
BufferSpan MemberResults::Source(uint32_t member, uint32_t reader, uint64_t n,
                                 uint32_t tensor) const {
  const MemberRound& round = rounds_.Of(member, n);
  if (!Here(member)) {
    return round.sections[remote_[member]->SectionOf(tensor, reader)];
  }
  const BufferSpan& input = round.inputs[tensor];
  const ByteRange part = SectionRange(divisions_[tensor], shape_.members, reader, input.bytes);
  return {static_cast<std::byte*>(input.data) + part.begin, part.bytes};
}

void MemberResults::Compute(uint32_t member, uint64_t n, uint32_t tensor) {
  if (divisions_[tensor] == Division::kSlices) return ReduceSlice(member, n, tensor);
  const BufferSpan& output = rounds_.Of(member, n).outputs[tensor];
  if (!traits_.gets(member, shape_.root) || output.data == nullptr) return;
  auto* const out = static_cast<std::byte*>(output.data);
  if (traits_.reduces) {
    const auto [from, bytes] = Sources(member, n, tensor, output.bytes);
    across_[tensor](from, shape_.members, bytes / Width(tensor), out);
    return;
  }
  const uint64_t part = traits_.joins() ? output.bytes / shape_.members : output.bytes;
  for (uint32_t of = 0; of < shape_.members; ++of) {
    if (!traits_.gives(of, shape_.root)) continue;
    const BufferSpan source = Source(of, member, n, tensor);
    device::CopyBytes(out + (traits_.joins() ? of * part : 0), source.data,
                      std::min(part, source.bytes));
  }
}

// Returns what `member` reduces, of each member, and how many bytes of it there are everywhere. The
// list is this member's row, since members here are driven by several threads. It is in the order
// of members at every rank, which makes the bits the same.
std::pair<const void**, uint64_t> MemberResults::Sources(uint32_t member, uint64_t n,
                                                         uint32_t tensor, uint64_t most) {
  const void** const from = sources_.data() + size_t{member} * shape_.members;
  for (uint32_t of = 0; of < shape_.members; ++of) {
    const BufferSpan source = Source(of, member, n, tensor);
    from[of] = source.data;
    most = std::min(most, source.bytes);
  }
  return {from, most};
}

// Reduces a member's slice, into its own result and those of the others here.
// Other members here reduce other slices at the same time, and the thread that polls brings those
// of other ranks: no two write the same bytes of a result.
void MemberResults::ReduceSlice(uint32_t member, uint64_t n, uint32_t tensor) {
  const ByteRange slice = SliceHere(n, tensor, member);
  auto [from, bytes] = Sources(member, n, tensor, slice.bytes);
  for (uint64_t at = 0; at < bytes; at += kSliceTileBytes) {
    const uint64_t count = std::min(kSliceTileBytes, bytes - at);
    std::byte* const tile = Output(member, n, tensor) + slice.begin + at;
    across_[tensor](from, shape_.members, count / Width(tensor), tile);
    CopyToMembersHere(n, tensor, slice.begin + at, tile, count);
    for (uint32_t of = 0; of < shape_.members; ++of) {
      from[of] = static_cast<const std::byte*>(from[of]) + count;
    }
  }
}

void MemberResults::TakeSlice(uint64_t n, const Section& section, const BufferSpan& from) {
  const ByteRange slice = SliceHere(n, section.tensor, section.part);
  CopyToMembersHere(n, section.tensor, slice.begin, from.data, std::min(slice.bytes, from.bytes));
}

// Returns a member's slice of a result for which all members here have room; none before they
// have arrived.
ByteRange MemberResults::SliceHere(uint64_t n, uint32_t tensor, uint32_t member) const {
  uint64_t bytes = shape_.tensors[tensor].bytes;
  for (uint32_t m = 0; m < shape_.members; ++m) {
    if (!Here(m)) continue;
    const BufferSpan& output = rounds_.Of(m, n).outputs[tensor];
    bytes = rounds_.Arrived(m, n) && output.data != nullptr ? std::min(bytes, output.bytes) : 0;
  }
  return SectionRange(Division::kSlices, shape_.members, member, bytes);
}

void MemberResults::CopyToMembersHere(uint64_t n, uint32_t tensor, uint64_t begin, const void* from,
                                      uint64_t bytes) {
  for (uint32_t m = 0; m < shape_.members && bytes != 0; ++m) {
    if (Here(m)) device::CopyBytes(Output(m, n, tensor) + begin, from, bytes);
  }
}

std::byte* MemberResults::Output(uint32_t member, uint64_t n, uint32_t tensor) const {
  return static_cast<std::byte*>(rounds_.Of(member, n).outputs[tensor].data);
}

uint64_t MemberResults::Width(uint32_t tensor) const {
  return static_cast<uint64_t>(plan::DTypeBytes(shape_.tensors[tensor].dtype));
}

}  // namespace cgraph::transport
