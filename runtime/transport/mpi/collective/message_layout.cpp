#include "runtime/transport/mpi/collective/message_layout.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/cluster/messenger.h"
#include "runtime/device/memory.h"

namespace cgraph::transport {
namespace {

using cluster::MessageBytes;

// Where what follows `bytes` begins: at a multiple of the largest element, and of a vector's size.
uint64_t AfterSection(uint64_t at, uint64_t bytes) { return device::AlignUp(at + bytes, 16); }

}  // namespace

MessageLayout::MessageLayout(const CollectiveShape& shape, std::vector<Section> sections)
    : members_(shape.members), sections_(std::move(sections)) {
  // Sizes come from plans, which are not trusted: a sum that is too large stays too large.
  device::BumpLayout layout;
  layout.Add(MessageBytes(SizesEnd()));
  for (const Section& section : sections_) {
    most_of_.push_back(
        MostSectionBytes(section.division, members_, shape.tensors[section.tensor].bytes));
    layout.Add(most_of_.back());
  }
  layout.Add(0);  // and so to the end of a unit
  most_bytes_ = std::min(layout.size(), UINT64_MAX / 4);
}

uint64_t MessageLayout::Write(uint64_t round, bool poison, std::span<const BufferSpan> values,
                       std::byte* to) const {
  const Header header{round, poison};
  std::memcpy(to, &header, sizeof(header));
  uint64_t at = MessageBytes(SizesEnd());
  for (size_t i = 0; i < sections_.size(); ++i) {
    ByteRange part;
    if (!poison) {
      const BufferSpan& value = values[sections_[i].tensor];
      part = SectionRange(sections_[i].division, members_, sections_[i].part, value.bytes);
      part.bytes = std::min(part.bytes, most_of_[i]);
      device::CopyBytes(to + at, static_cast<const std::byte*>(value.data) + part.begin,
                        part.bytes);
    }
    std::memcpy(to + sizeof(header) + i * sizeof(part.bytes), &part.bytes, sizeof(part.bytes));
    at = AfterSection(at, part.bytes);
  }
  return MessageBytes(at);
}

// The sizes come from another process: each is cut to what the shape allows and to what the message
// has, so no section lies outside the message.
bool MessageLayout::Read(uint64_t round, std::span<std::byte> message,
                  std::span<BufferSpan> sections) const {
  std::fill(sections.begin(), sections.end(), BufferSpan{nullptr, 0});
  if (message.size() < SizesEnd()) return true;
  Header header;
  std::memcpy(&header, message.data(), sizeof(header));
  uint64_t at = std::min<uint64_t>(MessageBytes(SizesEnd()), message.size());
  for (size_t i = 0; i < sections_.size(); ++i) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, message.data() + sizeof(header) + i * sizeof(bytes), sizeof(bytes));
    bytes = std::min({bytes, most_of_[i], message.size() - at});
    sections[i] = {message.data() + at, bytes};
    at = std::min<uint64_t>(AfterSection(at, bytes), message.size());
  }
  return header.poison != 0 || header.round != round;
}

}  // namespace cgraph::transport
