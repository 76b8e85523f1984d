#include "runtime/channel/local/local_channel.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace cgraph::channel {

Result<std::unique_ptr<LocalChannel>> LocalChannel::Make(const ChannelShape& shape) {
  std::unique_ptr<LocalChannel> channel(new LocalChannel);
  channel->rendezvous_ = shape.capacity == 0;
  channel->most_shown_ = channel->rendezvous_ ? std::max(1u, shape.outstanding)
                                        : std::clamp(shape.outstanding, 1u, shape.capacity);
  const uint64_t slots = std::bit_ceil(channel->most_shown_);
  CGRAPH_RETURN_IF_ERROR(
      device::CheckFree(slots * (sizeof(Slot) + std::max(1u, shape.spans) * sizeof(BufferSpan)),
                        "a channel's slots"));
  channel->slots_ = std::vector<Slot>(slots);
  channel->spans_.resize(slots * std::max(1u, shape.spans));
  device::BumpLayout layout;
  const uint64_t each = shape.message_bytes + 16ull * shape.spans;  // a span starts at 16
  if (!channel->rendezvous_) {
    for (uint64_t i = 0; i < slots; ++i) layout.Add(each);
    auto storage = device::Memory::Allocate(layout.size(), "a channel's messages");
    if (!storage.ok()) return storage.status();
    channel->storage_ = std::move(*storage);
  }
  device::BumpLayout again;
  for (uint64_t i = 0; i < slots; ++i) {
    Slot& slot = channel->slots_[i];
    slot.spans = &channel->spans_[i * std::max(1u, shape.spans)];
    if (!channel->rendezvous_) slot.storage = channel->storage_.data() + again.Add(each);
  }
  return channel;
}

bool LocalChannel::TrySend(uint64_t n, std::span<const BufferSpan> spans, bool poison) {
  if (received_.load(std::memory_order_acquire) + most_shown_ <= n) return false;
  Slot& slot = SlotOf(n);
  slot.poison = poison;
  slot.count = static_cast<uint32_t>(spans.size());
  uint64_t at = 0;
  for (uint32_t i = 0; i < slot.count; ++i) {
    slot.spans[i] = spans[i];
    if (rendezvous_ || poison || spans[i].bytes == 0) continue;
    slot.spans[i].data = slot.storage + at;
    std::memcpy(slot.spans[i].data, spans[i].data, spans[i].bytes);
    at = (at + spans[i].bytes + 15) & ~uint64_t{15};
  }
  slot.number.store(n + 1, std::memory_order_release);
  receiver_->Notify();
  return true;
}

bool LocalChannel::Receive(uint64_t n, std::span<const BufferSpan> spans) {
  Slot& slot = SlotOf(n);
  const bool poison = slot.poison;
  const uint32_t count = std::min(slot.count, static_cast<uint32_t>(spans.size()));
  for (uint32_t i = 0; i < count && !poison; ++i) {
    // The sizes are equal on both sides: the checker compares types, and extents travel before the
    // values that they measure.
    const uint64_t bytes = std::min(spans[i].bytes, slot.spans[i].bytes);
    device::CopyBytes(spans[i].data, slot.spans[i].data, bytes);
  }
  received_.store(n + 1, std::memory_order_release);
  sender_->Notify();
  return poison;
}

}  // namespace cgraph::channel
