// Channel: the two ends of the transfers between two lanes, within one process.
//
// Rendezvous: the sender shows its spans of memory, the receiver copies them out of there, and the
// send is done when that has happened; so a send completes only when the receive is there, as with
// NCCL, and an order that would hang on GPUs hangs here. Buffered: the sender copies into one of
// `capacity` slots and is done.
//
// Messages are counted from 0 for ever; both ends know every number from the plan. A slot carries
// the number and the message's poison flag (poison) in one cache line. The ends never block: the
// lane's work queue tries again until an end says true.
#ifndef CGRAPH_RUNTIME_CHANNEL_CHANNEL_H_
#define CGRAPH_RUNTIME_CHANNEL_CHANNEL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/device/event_count.h"
#include "runtime/device/memory.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status.h"

namespace cgraph::channel {

// Dense bytes of one value.
struct BufferSpan {
  void* data;
  uint64_t bytes;
};

// Whether this engine can move what the channel carries; otherwise the reason, and what could.
Status CanServe(const plan::Plan& plan, const plan::Graph& graph, uint32_t channel);

struct ChannelShape {
  uint32_t capacity = 0;       // 0: rendezvous
  uint32_t outstanding = 1;    // most messages that are shown and not yet received at once
  uint32_t spans = 1;         // most values in a message
  uint64_t message_bytes = 0;  // most bytes in a message, at bound
};

class Channel {
 public:
  static Result<std::unique_ptr<Channel>> Make(const ChannelShape& shape);

  // At load: whom to wake when the other end has moved.
  void SetEventCounts(device::EventCount* sender, device::EventCount* receiver) {
    sender_ = sender;
    receiver_ = receiver;
  }

  // Shows message n (false: no room yet). A poisoned message has no bytes worth moving.
  bool TrySend(uint64_t n, std::span<const BufferSpan> spans, bool poison);
  // Whether the send of message n, already shown, is done.
  bool Sent(uint64_t n) const {
    return !rendezvous_ || received_.load(std::memory_order_acquire) > n;
  }
  bool Arrived(uint64_t n) {
    return SlotOf(n).number.load(std::memory_order_acquire) == n + 1;
  }
  // Copies message n, which has arrived, out; returns its poison flag.
  bool Receive(uint64_t n, std::span<const BufferSpan> spans);

 private:
  struct alignas(128) Slot {
    std::atomic<uint64_t> number{0};  // of the message in it, plus one
    bool poison = false;
    uint32_t count = 0;
    BufferSpan* spans = nullptr;
    std::byte* storage = nullptr;     // buffered only
  };
  Channel() = default;

  Slot& SlotOf(uint64_t n) { return slots_[n & (slots_.size() - 1)]; }

  std::vector<Slot> slots_;  // a power of two
  uint64_t room_ = 1;        // messages that may be shown and not yet received
  std::vector<BufferSpan> spans_;
  device::Memory storage_;
  bool rendezvous_ = true;
  device::EventCount* sender_ = nullptr;
  device::EventCount* receiver_ = nullptr;
  alignas(128) std::atomic<uint64_t> received_{0};  // messages, written by the receiver
};

}  // namespace cgraph::channel

#endif  // CGRAPH_RUNTIME_CHANNEL_CHANNEL_H_
