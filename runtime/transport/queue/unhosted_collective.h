// UnhostedCollective: what collectives have in common whose members are all on queues that carry
// out communications by themselves, so that the host drives none of them.
#ifndef CGRAPH_RUNTIME_TRANSPORT_QUEUE_UNHOSTED_COLLECTIVE_H_
#define CGRAPH_RUNTIME_TRANSPORT_QUEUE_UNHOSTED_COLLECTIVE_H_

#include <algorithm>
#include <cstdint>
#include <span>

#include "runtime/base/sync/semaphore.h"
#include "runtime/plan/kinds.h"
#include "runtime/transport/collective.h"

namespace cgraph::transport {

class UnhostedCollective : public Collective {
 public:
  // No member is the host's: work queues call neither Arrive nor Reduce. Reports ask PresenceOf
  // from any thread, and the words of the semaphores answer.
  void Arrive(uint32_t, uint64_t, std::span<const BufferSpan>, std::span<const BufferSpan>,
              bool) override {}
  bool Reduce(uint32_t, uint64_t) override { return false; }
  Presence PresenceOf(uint32_t member, uint64_t n) const override {
    return Arrived(member).Reached(n + 1) ? Presence::kPresent : Presence::kAway;
  }
  bool AllArrived(uint64_t n) const override {
    for (uint32_t member = 0; member < shape_.members; ++member) {
      if (!Arrived(member).Reached(n + 1)) return false;
    }
    return true;
  }

 protected:
  explicit UnhostedCollective(const CollectiveShape& shape)
      : traits_(TraitsOf(shape.kind)), shape_(shape) {}

  // Returns the semaphore that a member signals when it comes to a round.
  virtual TimelineSemaphore& Arrived(uint32_t member) const = 0;

  bool Gives(uint32_t member) const { return traits_.gives(member, shape_.root); }

  // Returns the bytes of one giver's part of a tensor. Where members disagree, the least.
  uint64_t PartBytes(const QueuedMember& at, uint32_t tensor) const {
    uint64_t bytes = UINT64_MAX;
    if (at.outputs != nullptr) {
      bytes = at.outputs[tensor].bytes() / (traits_.joins() ? shape_.members : 1);
    }
    for (uint32_t giver = 0; giver < shape_.members; ++giver) {
      if (!Gives(giver)) continue;
      const uint64_t given = at.inputs[giver][tensor].bytes();
      bytes = std::min(bytes, given / (traits_.divides() ? shape_.members : 1));
    }
    return bytes;
  }

  const CollectiveTraits& traits_;
  const CollectiveShape shape_;
};

}  // namespace cgraph::transport

#endif  // CGRAPH_RUNTIME_TRANSPORT_QUEUE_UNHOSTED_COLLECTIVE_H_
