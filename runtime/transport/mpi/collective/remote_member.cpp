#include "runtime/transport/mpi/collective/remote_member.h"

#include <algorithm>
#include <utility>

#include "runtime/transport/mpi/collective/sections.h"

namespace cgraph::transport {

RemoteMember::RemoteMember(const CollectiveShape& shape, std::span<const uint32_t> ranks,
                           uint32_t member, uint32_t own, Take take)
    : take_(std::move(take)),
      members_(shape.members),
      member_(member),
      rank_(ranks[member]),
      inputs_(shape, SectionsFor(shape, ranks, member, own)),
      slices_(shape, SlicesOf(shape, member)),
      slice_sections_(slices_.sections().size()),
      section_of_(shape.tensors.size() * shape.members, 0) {
  const std::vector<Section>& sections = inputs_.sections();
  for (size_t i = 0; i < sections.size(); ++i) {
    const auto first = section_of_.begin() + sections[i].tensor * members_;
    if (sections[i].division == Division::kWhole) {
      std::fill_n(first, members_, i);  // for every reader
    } else {
      first[sections[i].part] = i;
    }
  }
}

Result<std::unique_ptr<RemoteMember>> RemoteMember::Make(const CollectiveShape& shape,
                                                         std::span<const uint32_t> ranks,
                                                         uint32_t member, uint32_t own,
                                                         Take take) {
  std::unique_ptr<RemoteMember> made(
      new RemoteMember(shape, ranks, member, own, std::move(take)));
  auto memory = device::Memory::Allocate(
      2 * made->inputs_.most_bytes() + made->slices_.most_bytes(), "a collective's messages");
  if (!memory.ok()) return memory.status();
  made->memory_ = std::move(*memory);
  return made;
}

// Messages of one member have one tag and keep their order, so their number says what they are.
// What another rank sends with that tag, or what is too large, is dropped.
std::span<std::byte> RemoteMember::BufferFor(uint32_t from, uint64_t bytes) {
  const uint64_t each = inputs_.most_bytes();
  std::span<std::byte> buffer(memory_.data() + (begun_ / per_round() & 1) * each, each);
  if (begun_ % per_round() == 1) buffer = {memory_.data() + 2 * each, slices_.most_bytes()};
  if (from != rank_ || bytes > buffer.size()) return {};
  ++begun_;
  return buffer;
}

bool RemoteMember::OnMessage(uint32_t, std::span<const std::byte> message) {
  const uint64_t n = arrived_++;
  // It lies in this object's memory.
  const std::span<std::byte> bytes(const_cast<std::byte*>(message.data()), message.size());
  take_(*this, n / per_round(), /*slices=*/n % per_round() != 0, bytes);
  return true;
}

}  // namespace cgraph::transport
