// Collective: one collective operation of a graph among the lanes of a communicator. Its transport
// moves the bytes (transport.h).
//
// Every participant has a member slot. In each round a member *arrives*; once all have arrived it
// does its *share* of the work; it is done when no other member needs its memory any more. So, as
// with NCCL, no member is done before all have arrived, and an order that would deadlock on GPUs
// deadlocks everywhere.
//
// Results have the same bits at all members and every time. Nothing blocks, allocates or locks: the
// driver of a lane calls again until a function returns true.
#ifndef CGRAPH_RUNTIME_TRANSPORT_COLLECTIVE_H_
#define CGRAPH_RUNTIME_TRANSPORT_COLLECTIVE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/base/kinds/collective.h"
#include "runtime/base/sync/event_count.h"
#include "runtime/plan/plan.h"
#include "runtime/transport/channel.h"

namespace cgraph::transport {

struct CollectiveShape {
  CollectiveKind kind = CollectiveKind::kBarrier;  // that the transport serves
  std::optional<Reduction> reduction;              // of kinds that reduce
  uint32_t root = 0;
  uint32_t members = 1;
  struct Tensor {
    plan::DType dtype;
    uint64_t bytes;  // of an input, at bound
  };
  std::vector<Tensor> tensors;
};

// QueuedMember: what a member on a queue issues. It knows where the values of all members lie.
struct QueuedMember {
  device::Queue* queue = nullptr;
  uint64_t round = 0;
  uint32_t member = 0;
  const device::Operation* operation = nullptr;  // its flag is that of the result
  const device::Tensor* const* inputs = nullptr;  // by member: its tensors, null: it gives none
  device::Tensor* outputs = nullptr;             // its own, null where it gets none
  std::span<const uint32_t> checks;  // the poison flags of what flows into the result
  bool empty = false;
};

// Presence: how far a member is in a round. It has not arrived; it has arrived; or it has done its
// share and only waits for those of others. Collectives in which no member waits for shares
// (small ones in shared memory, NCCL's) have no kLeft.
enum class Presence : uint8_t { kAway, kPresent, kLeft };

// Notifies every member of a collective but this one, which has moved. `event_counts`: by member;
// null: of a rank that shares no memory with this one. Neighbours that share an event count, since
// one worker drives them, are notified once; those that are no neighbours may be notified twice,
// which costs a load each. A worker that drives this member and another one is notified, too: it
// may have tried the other one before this one moved, and would go to sleep.
inline void NotifyOthers(std::span<EventCount* const> event_counts, uint32_t member) {
  EventCount* last = nullptr;
  for (uint32_t other = 0; other < event_counts.size(); ++other) {
    EventCount* const event_count = event_counts[other];
    if (other == member || event_count == nullptr || event_count == last) continue;
    event_count->Notify();
    last = event_count;
  }
}

class Collective {
 public:
  virtual ~Collective() = default;

  // Called at load: names the event count that is notified when other members have moved.
  virtual void SetEventCount(uint32_t member, EventCount* event_count) = 0;

  // Called in round n, once per member. The bytes of a poisoned member are not worth reading.
  virtual void Arrive(uint32_t member, uint64_t n, std::span<const BufferSpan> inputs,
                      std::span<const BufferSpan> outputs, bool poison) = 0;
  // Returns how far the member is in round n. Reports ask, where all members are of one machine.
  virtual Presence PresenceOf(uint32_t member, uint64_t n) const = 0;
  virtual bool AllArrived(uint64_t n) const = 0;
  // Does this member's share of the work, once all have arrived. Returns the poison flag of its
  // result.
  virtual bool Reduce(uint32_t member, uint64_t n) = 0;
  // Called after Reduce(): returns whether all other members are done with this member's memory.
  virtual bool Left(uint64_t n) const = 0;

  // For members on queues (transport/queue). Prepare: does the host's part before a pass is issued;
  // false: call again, and go on with other members meanwhile.
  virtual bool Prepare(Pass, const QueuedMember&) { return true; }
  virtual void Issue(Pass, const QueuedMember&) {}
};

}  // namespace cgraph::transport

#endif  // CGRAPH_RUNTIME_TRANSPORT_COLLECTIVE_H_
