// The ends of a channel between ranks that share no memory (message_channel.cpp): each rank makes
// its own, on a thread or on a queue.
#ifndef CGRAPH_RUNTIME_TRANSPORT_MPI_MESSAGE_ENDS_H_
#define CGRAPH_RUNTIME_TRANSPORT_MPI_MESSAGE_ENDS_H_

#include <cstdint>
#include <memory>

#include "runtime/cluster/messenger.h"
#include "runtime/device/device.h"
#include "runtime/device/semaphore_array.h"
#include "runtime/transport/channel.h"
#include "runtime/transport/mpi/message_slots.h"

namespace cgraph::transport {

// QueueEnd: what this rank's end of a channel is on, if it is a queue.
struct QueueEnd {
  device::Device* host = nullptr;          // of the caller, in whose memory the slots lie
  const device::Device* device = nullptr;  // of the queue: nothing is sent once it has failed
  EventCount* relayer = nullptr;           // of the thread that calls Relay()
};

// Make the end of a thread. `to`, `from`: the other rank.
std::unique_ptr<Channel> MakeMessageSender(MessageSlots slots, cluster::Messenger& messenger,
                                           uint32_t tag, uint32_t to);
std::unique_ptr<Channel> MakeMessageReceiver(MessageSlots slots, cluster::Messenger& messenger,
                                             uint32_t tag, uint32_t from);
// The same on a queue. `copied`: one semaphore, of messages that are in their slots; of those that
// were taken out of them.
std::unique_ptr<Channel> MakeQueueMessageSender(MessageSlots slots, cluster::Messenger& messenger,
                                                uint32_t tag, uint32_t to, const QueueEnd& end,
                                                device::SemaphoreArray copied);
std::unique_ptr<Channel> MakeQueueMessageReceiver(MessageSlots slots, cluster::Messenger& messenger,
                                                  uint32_t tag, uint32_t from, const QueueEnd& end,
                                                  device::SemaphoreArray copied);

}  // namespace cgraph::transport

#endif  // CGRAPH_RUNTIME_TRANSPORT_MPI_MESSAGE_ENDS_H_
