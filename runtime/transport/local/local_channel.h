// A channel whose ends have one address space.
//
// Rendezvous: the sender shows its spans of memory, the receiver copies them out of there, and the
// send is done when that has happened. Buffered: the sender copies into one of `capacity` slots and
// is done. A slot carries the message's number and its poison flag in one cache line.
//
// Each word has one writer: the sender writes a slot and then its number, the receiver the count of
// what it has received. The release of the number shows the receiver the spans and, in a buffered
// slot, the bytes. The release of the count shows the sender that the receiver has read them, so
// that the slot, and the memory of a rendezvous, may be written again.
#ifndef CGRAPH_RUNTIME_TRANSPORT_LOCAL_LOCAL_CHANNEL_H_
#define CGRAPH_RUNTIME_TRANSPORT_LOCAL_LOCAL_CHANNEL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "runtime/base/status.h"
#include "runtime/base/sync/event_count.h"
#include "runtime/device/shared_heap.h"
#include "runtime/transport/channel.h"

namespace cgraph::transport {

class LocalChannel final : public Channel {
 public:
  static Result<std::unique_ptr<LocalChannel>> Make(const ChannelShape& shape,
                                                    device::SharedHeap& heap);

  void SetEventCounts(EventCount* sender, EventCount* receiver) override {
    sender_ = sender;
    receiver_ = receiver;
  }
  bool TrySend(uint64_t n, std::span<const BufferSpan> spans, bool poison) override;
  bool Sent(uint64_t n) const override {
    return !rendezvous_ || received_->load(std::memory_order_acquire) > n;
  }
  bool Arrived(uint64_t n) override {
    return SlotOf(n).number.load(std::memory_order_acquire) == n + 1;
  }
  bool Receive(uint64_t n, std::span<const BufferSpan> spans) override;

 private:
  struct alignas(128) Slot {
    // Of the message in it, plus one: 0 is a slot that has had none yet.
    std::atomic<uint64_t> number{0};
    bool poison = false;
    uint32_t count = 0;
    BufferSpan* spans = nullptr;
    std::byte* storage = nullptr;     // buffered only
  };
  LocalChannel() = default;

  Slot& SlotOf(uint64_t n) { return slots_[n & (slots_.size() - 1)]; }

  std::span<Slot> slots_;    // a power of two
  uint64_t most_shown_ = 1;  // messages that may be shown and not yet received
  bool rendezvous_ = true;
  EventCount* sender_ = nullptr;
  EventCount* receiver_ = nullptr;
  std::atomic<uint64_t>* received_ = nullptr;  // messages, written by the receiver
};

}  // namespace cgraph::transport

#endif  // CGRAPH_RUNTIME_TRANSPORT_LOCAL_LOCAL_CHANNEL_H_
