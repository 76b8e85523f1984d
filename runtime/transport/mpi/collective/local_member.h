// LocalMember: a member of this rank of a collective between ranks, with what it sends to others.
#ifndef CGRAPH_RUNTIME_TRANSPORT_MPI_COLLECTIVE_LOCAL_MEMBER_H_
#define CGRAPH_RUNTIME_TRANSPORT_MPI_COLLECTIVE_LOCAL_MEMBER_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/cluster/messenger.h"
#include "runtime/device/memory.h"
#include "runtime/transport/collective.h"
#include "runtime/transport/mpi/collective/message_layout.h"

namespace cgraph::transport {

// OutgoingMessage: a member's message to the ranks that get the same sections of its values, once
// in each round.
class OutgoingMessage {
 public:
  OutgoingMessage(MessageLayout layout, std::vector<uint32_t> to)
      : layout_(std::move(layout)), to_(std::move(to)), busy_(2 * to_.size()) {}

  Status Allocate() {
    auto memory = device::Memory::Allocate(layout_.most_bytes(), "a collective's messages");
    if (!memory.ok()) return memory.status();
    memory_ = std::move(*memory);
    return Status::Ok();
  }

  // A member sends nothing of a round before all of the round before has left it, which Left()
  // tells; so memory for one message is enough.
  void Send(cluster::Messenger& messenger, uint32_t tag, uint64_t n, bool poison,
            std::span<const BufferSpan> values) {
    const uint64_t bytes = layout_.Write(n, poison, values, memory_.data());
    for (size_t i = 0; i < to_.size(); ++i) {
      messenger.Send(to_[i], tag, {memory_.data(), bytes}, &busy_[(n & 1) * to_.size() + i]);
    }
  }
  // Returns whether the message of round n has left. A member may be a round ahead of others that
  // ask; so each of two rounds has flags of its own.
  bool Left(uint64_t n) const {
    const auto first = busy_.begin() + static_cast<ptrdiff_t>((n & 1) * to_.size());
    return std::none_of(first, first + static_cast<ptrdiff_t>(to_.size()), [](const auto& busy) {
      return busy.load(std::memory_order_acquire);
    });
  }

  void KeepIn(cluster::Messenger& messenger) {
    messenger.Keep(std::move(memory_));
    messenger.Keep(std::move(busy_));
  }

 private:
  MessageLayout layout_;
  std::vector<uint32_t> to_;
  device::Memory memory_;
  std::vector<std::atomic<bool>> busy_;  // by round and rank: a message that has not left yet
};

struct LocalMember {
  // The driver of the member sends; the MPI may hold the memory until AllLeft() says that it has
  // let go, and until then the member is not done with its round.
  std::vector<OutgoingMessage> inputs;  // sent on arrival
  std::vector<OutgoingMessage> slices;  // sent when it has reduced them; one, or none

  // Makes the messages to all other ranks. `ranks`: of each member.
  Status MakeMessages(const CollectiveShape& shape, std::span<const uint32_t> ranks,
                      uint32_t member);
  // Returns whether what was sent in round n has left.
  bool AllLeft(uint64_t n) const;
  // Leaves the memory of what may not have left to a messenger that was given up.
  void KeepIn(cluster::Messenger& messenger);
};

}  // namespace cgraph::transport

#endif  // CGRAPH_RUNTIME_TRANSPORT_MPI_COLLECTIVE_LOCAL_MEMBER_H_
