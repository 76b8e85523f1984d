// A channel whose ends are at two ranks that share no memory: a message is sent as soon as the
// sender gives it, into one of `capacity` slots of the receiver, which tells the sender when it has
// taken it out. A rank that has neither end has an object that does nothing.
//
// Where an end is on a queue, the slots of its rank are pinned memory. The queue of a sender copies
// into a slot and signals; the thread that goes on with messages sees the signal and sends (Relay).
// On the other side a queue's end is issued when the message has arrived; the queue copies it out
// and signals, and then the sender is told. So no queue waits for the host or for another machine.
// The two ends do not know of each other what they are on.
//
// Three kinds of threads meet here. The thread that drives a lane, or issues to a queue, calls the
// functions of Channel. The thread that polls the messenger calls BufferFor() and OnMessage(),
// under the messenger's lock. Relay() is called by the threads that go on with messages. Counters
// with one writer each hand the slots over between them.
#ifndef CGRAPH_RUNTIME_TRANSPORT_MPI_MESSAGE_CHANNEL_H_
#define CGRAPH_RUNTIME_TRANSPORT_MPI_MESSAGE_CHANNEL_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/base/status.h"
#include "runtime/cluster/messenger.h"
#include "runtime/transport/channel.h"
#include "runtime/transport/mpi/message_ends.h"

namespace cgraph::transport {

// `tag`: of this channel alone, the same at both ranks. kInvalid when there is no memory for the
// messages.
Result<std::unique_ptr<Channel>> MakeMessageChannel(
    const ChannelShape& shape, cluster::Messenger& messenger, uint32_t tag, uint32_t from_rank,
    uint32_t to_rank, const std::optional<QueueEnd>& queue_end = std::nullopt);

}  // namespace cgraph::transport

#endif  // CGRAPH_RUNTIME_TRANSPORT_MPI_MESSAGE_CHANNEL_H_
