#include "runtime/transport/local/local_channel.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace cgraph::transport {

Result<std::unique_ptr<LocalChannel>> LocalChannel::Make(const ChannelShape& shape,
                                                         device::SharedHeap& heap) {
  const char* const what = "a channel's messages";
  std::unique_ptr<LocalChannel> channel(new LocalChannel);
  channel->rendezvous_ = shape.capacity == 0;
  channel->most_shown_ = channel->rendezvous_ ? std::max(1u, shape.outstanding)
                                        : std::clamp(shape.outstanding, 1u, shape.capacity);
  const uint64_t count = std::bit_ceil(channel->most_shown_);
  const uint64_t spans_each = std::max(1u, shape.spans);
  device::BumpLayout layout;  // of one message; a span starts at 16
  layout.Add(shape.message_bytes);
  layout.Add(16ull * shape.spans);
  const uint64_t least = channel->rendezvous_ ? 0 : layout.size();  // a rendezvous stores nothing
  CGRAPH_RETURN_IF_ERROR(device::CheckFree(
      least > UINT64_MAX / 2 / count ? UINT64_MAX : count * (least + sizeof(Slot)), what));
  const uint64_t each = device::AlignUp(least, device::kLineAlign);
  auto slots = heap.Make<Slot>(count, what);
  auto spans = heap.Make<BufferSpan>(count * spans_each, what);
  auto storage = heap.Make<std::byte>(count * each, what);
  auto received = heap.Make<std::atomic<uint64_t>>(1, what);
  for (const Status& status : {slots.status(), spans.status(), storage.status(),
                               received.status()}) {
    CGRAPH_RETURN_IF_ERROR(status);
  }
  channel->slots_ = *slots;
  channel->received_ = received->data();
  for (uint64_t i = 0; i < count; ++i) {
    channel->slots_[i].spans = spans->data() + i * spans_each;
    if (!channel->rendezvous_) channel->slots_[i].storage = storage->data() + i * each;
  }
  return channel;
}

bool LocalChannel::TrySend(uint64_t n, std::span<const BufferSpan> spans, bool poison) {
  // Without room the slot still has a message that the receiver may be reading. The acquire keeps
  // the stores below behind that reading.
  if (received_->load(std::memory_order_acquire) + most_shown_ <= n) return false;
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
  const bool poison = slot.poison;  // read before the slot is given back below
  const uint32_t count = std::min(slot.count, static_cast<uint32_t>(spans.size()));
  for (uint32_t i = 0; i < count && !poison; ++i) {
    // Both sizes are equal: the checker compares types, and extents travel before the values that
    // they measure. A plan that is not proved may send other extents: then the lesser size guards
    // memory.
    const uint64_t bytes = std::min(spans[i].bytes, slot.spans[i].bytes);
    device::CopyBytes(spans[i].data, slot.spans[i].data, bytes);
  }
  received_->store(n + 1, std::memory_order_release);
  sender_->Notify();
  return poison;
}

}  // namespace cgraph::transport
