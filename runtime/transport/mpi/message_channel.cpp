// A channel whose ends are at two ranks that share no memory: a message is sent as soon as the
// sender gives it, into one of `capacity` slots of the receiver, which tells the sender when it has
// taken it out.
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
#include <span>
#include <utility>

#include "runtime/device/semaphore_array.h"
#include "runtime/transport/mpi/message_slots.h"
#include "runtime/transport/mpi/mpi_transport.h"

namespace cgraph::transport {
Result<std::unique_ptr<Channel>> MakeMessageChannel(const ChannelShape& shape,
                                                    cluster::Messenger& messenger, uint32_t tag,
                                                    uint32_t from_rank, uint32_t to_rank,
                                                    const std::optional<QueueEnd>& queue_end) {
  const bool sends = messenger.rank() == from_rank;
  auto slots = MakeSlots(shape, queue_end ? queue_end->host : nullptr);
  if (!slots.ok()) return slots.status();
  if (!queue_end) {
    return sends ? MakeMessageSender(std::move(*slots), messenger, tag, to_rank)
                 : MakeMessageReceiver(std::move(*slots), messenger, tag, from_rank);
  }
  auto copied = device::SemaphoreArray::Make(*queue_end->host, 1, "an end of a channel");
  if (!copied.ok()) return copied.status();
  return sends ? MakeQueueMessageSender(std::move(*slots), messenger, tag, to_rank, *queue_end,
                                        std::move(*copied))
               : MakeQueueMessageReceiver(std::move(*slots), messenger, tag, from_rank, *queue_end,
                                          std::move(*copied));
}

}  // namespace cgraph::transport
