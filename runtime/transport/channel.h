// Channel: the two ends of the transfers between two lanes. The transport of the channel moves
// the bytes (transport.h).
//
// Rendezvous: a send is done only when its receive has happened, as with NCCL, so an order that
// would deadlock on GPUs deadlocks everywhere. Buffered: a send is done when one of `capacity`
// slots has taken the message.
//
// Messages are counted from 0 and never wrap; both ends know every number from the plan. A message
// carries a poison flag. The ends never block: the driver of a lane calls again until an end
// returns true.
#ifndef CGRAPH_RUNTIME_TRANSPORT_CHANNEL_H_
#define CGRAPH_RUNTIME_TRANSPORT_CHANNEL_H_

#include <cstdint>
#include <span>

#include "runtime/base/sync/event_count.h"
#include "runtime/device/queue.h"

namespace cgraph::transport {

// The dense bytes of one value.
struct BufferSpan {
  void* data;
  uint64_t bytes;
};

struct ChannelShape {
  uint32_t capacity = 0;       // 0: rendezvous
  uint32_t outstanding = 1;    // most messages that are shown and not yet received at once
  uint32_t spans = 1;         // most values in a message
  uint64_t message_bytes = 0;  // most bytes in a message, at bound
  uint64_t value_bytes = 0;    // most bytes of a value, at bound
};

// Pass: an end on a queue is issued in three passes over all parts of all groups that happen
// together. What a pass waits for is issued in passes before, or by another work queue: so parts
// never wait for each other, even where queues share hardware that keeps the order of issue.
// kShow tells the other side that values are there; kMove moves them; kEnd frees them for reuse.
enum class Pass { kShow, kMove, kEnd };

// QueuedMessage: what an end on a queue issues. A receive knows where the sender's values lie, too:
// the addresses of a frame do not change. A message of an empty execution moves nothing.
struct QueuedMessage {
  device::Queue* queue = nullptr;
  uint64_t number = 0;
  const device::Operation* operation = nullptr;  // its flag is that of what is received
  const device::Tensor* from = nullptr;          // the sender's values
  device::Tensor* to = nullptr;                  // the receiver's; null for a send
  uint32_t count = 0;
  bool empty = false;
  std::span<const uint32_t> checks;  // of a send: the poison flags of what is sent
};

class Channel {
 public:
  virtual ~Channel() = default;

  // Called at load: names the event count of each end, which the other end notifies when it has
  // moved. A work queue that waits for a channel sleeps on that count, so an end that forgets to
  // notify lets it sleep for ever.
  virtual void SetEventCounts(EventCount* sender, EventCount* receiver) = 0;

  // Shows message n to the receiver; false when there is no room yet. A poisoned message has no
  // bytes worth moving.
  virtual bool TrySend(uint64_t n, std::span<const BufferSpan> spans, bool poison) = 0;
  // Returns whether the send of message n, already shown, is done.
  virtual bool Sent(uint64_t n) const = 0;
  virtual bool Arrived(uint64_t n) = 0;
  // Copies message n, which has arrived, out; returns its poison flag.
  virtual bool Receive(uint64_t n, std::span<const BufferSpan> spans) = 0;

  // For ends on queues (transport/queue). Ready: whether the host has done what the end of a
  // message needs of it before it may be issued: a send with kShow, a receive with kMove.
  virtual bool ReadyToSend(uint64_t) const { return true; }
  virtual bool ReadyToReceive(uint64_t) const { return true; }
  virtual void IssueSend(Pass, const QueuedMessage&) {}
  virtual void IssueReceive(Pass, const QueuedMessage&) {}
  // Does what the host has to do for an end on a queue once the queue has done its part. The
  // threads that go on with messages between machines call it. Returns whether it did anything.
  virtual bool Relay() { return false; }
};

}  // namespace cgraph::transport

#endif  // CGRAPH_RUNTIME_TRANSPORT_CHANNEL_H_
