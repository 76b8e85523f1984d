// The end that receives of a channel between ranks that share no memory (message_channel.h).
#ifndef CGRAPH_RUNTIME_TRANSPORT_MPI_MESSAGE_RECEIVER_H_
#define CGRAPH_RUNTIME_TRANSPORT_MPI_MESSAGE_RECEIVER_H_

#include <cstdint>
#include <memory>

#include "runtime/cluster/messenger.h"
#include "runtime/device/semaphore_array.h"
#include "runtime/transport/channel.h"
#include "runtime/transport/mpi/message_channel.h"
#include "runtime/transport/mpi/message_slots.h"

namespace cgraph::transport {

// Makes the end of a thread. `from`: the other rank.
std::unique_ptr<Channel> MakeMessageReceiver(MessageSlots slots, cluster::Messenger& messenger,
                                             uint32_t tag, uint32_t from);
// The same on a queue. `copied`: one semaphore, of messages that were taken out of their slots.
std::unique_ptr<Channel> MakeQueueMessageReceiver(MessageSlots slots, cluster::Messenger& messenger,
                                                  uint32_t tag, uint32_t from, const QueueEnd& end,
                                                  device::SemaphoreArray copied);

}  // namespace cgraph::transport

#endif  // CGRAPH_RUNTIME_TRANSPORT_MPI_MESSAGE_RECEIVER_H_
