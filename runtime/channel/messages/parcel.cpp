#include "runtime/channel/messages/parcel.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/device/memory.h"
#include "runtime/ranks/messenger.h"

namespace cgraph::channel {
namespace {

using ranks::MessageBytes;

// Where what follows `bytes` begins: at a multiple of the largest element, and of a vector's size.
uint64_t AfterPiece(uint64_t at, uint64_t bytes) { return device::AlignUp(at + bytes, 16); }

}  // namespace

Parcel::Parcel(const CollectiveShape& shape, std::vector<Piece> pieces)
    : members_(shape.members), pieces_(std::move(pieces)) {
  // Sizes come from plans, which are not trusted: a sum that is too large stays too large.
  device::BumpLayout layout;
  layout.Add(MessageBytes(SizesEnd()));
  for (const Piece& piece : pieces_) {
    most_of_.push_back(
        MostPartBytes(piece.division, members_, shape.tensors[piece.tensor].bytes));
    layout.Add(most_of_.back());
  }
  layout.Add(0);  // and so to the end of a unit
  most_bytes_ = std::min(layout.size(), UINT64_MAX / 4);
}

uint64_t Parcel::Write(uint64_t round, bool poison, std::span<const BufferSpan> values,
                       std::byte* to) const {
  const Header header{round, poison};
  std::memcpy(to, &header, sizeof(header));
  uint64_t at = MessageBytes(SizesEnd());
  for (size_t i = 0; i < pieces_.size(); ++i) {
    Range part;
    if (!poison) {
      const BufferSpan& value = values[pieces_[i].tensor];
      part = PartFor(pieces_[i].division, members_, pieces_[i].member, value.bytes);
      part.bytes = std::min(part.bytes, most_of_[i]);
      device::CopyBytes(to + at, static_cast<const std::byte*>(value.data) + part.begin,
                        part.bytes);
    }
    std::memcpy(to + sizeof(header) + i * sizeof(part.bytes), &part.bytes, sizeof(part.bytes));
    at = AfterPiece(at, part.bytes);
  }
  return MessageBytes(at);
}

bool Parcel::Read(uint64_t round, std::span<std::byte> message,
                  std::span<BufferSpan> pieces) const {
  std::fill(pieces.begin(), pieces.end(), BufferSpan{nullptr, 0});
  if (message.size() < SizesEnd()) return true;
  Header header;
  std::memcpy(&header, message.data(), sizeof(header));
  uint64_t at = std::min<uint64_t>(MessageBytes(SizesEnd()), message.size());
  for (size_t i = 0; i < pieces_.size(); ++i) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, message.data() + sizeof(header) + i * sizeof(bytes), sizeof(bytes));
    bytes = std::min({bytes, most_of_[i], message.size() - at});
    pieces[i] = {message.data() + at, bytes};
    at = std::min<uint64_t>(AfterPiece(at, bytes), message.size());
  }
  return header.poison != 0 || header.round != round;
}

}  // namespace cgraph::channel
