// Channel: the two ends of the transfers between two lanes; what moves the bytes is its carrier's
// (carrier.h).
//
// Rendezvous: a send is done only when its receive has happened, as with NCCL, so an order that
// would hang on GPUs hangs everywhere. Buffered: a send is done when one of `capacity` slots has
// taken it.
//
// Messages are counted from 0 for ever; both ends know every number from the plan. A message
// carries a poison flag (poison). The ends never block: who drives a lane tries again until an end
// says true.
#ifndef CGRAPH_RUNTIME_CHANNEL_CHANNEL_H_
#define CGRAPH_RUNTIME_CHANNEL_CHANNEL_H_

#include <cstdint>
#include <span>

#include "runtime/device/sync/event_count.h"

namespace cgraph::channel {

// Dense bytes of one value.
struct BufferSpan {
  void* data;
  uint64_t bytes;
};

struct ChannelShape {
  uint32_t capacity = 0;       // 0: rendezvous
  uint32_t outstanding = 1;    // most messages that are shown and not yet received at once
  uint32_t spans = 1;         // most values in a message
  uint64_t message_bytes = 0;  // most bytes in a message, at bound
};

class Channel {
 public:
  virtual ~Channel() = default;

  // At load: whom to wake when the other end has moved.
  virtual void SetEventCounts(device::EventCount* sender, device::EventCount* receiver) = 0;

  // Shows message n (false: no room yet). A poisoned message has no bytes worth moving.
  virtual bool TrySend(uint64_t n, std::span<const BufferSpan> spans, bool poison) = 0;
  // Whether the send of message n, already shown, is done.
  virtual bool Sent(uint64_t n) const = 0;
  virtual bool Arrived(uint64_t n) = 0;
  // Copies message n, which has arrived, out; returns its poison flag.
  virtual bool Receive(uint64_t n, std::span<const BufferSpan> spans) = 0;
};

}  // namespace cgraph::channel

#endif  // CGRAPH_RUNTIME_CHANNEL_CHANNEL_H_
