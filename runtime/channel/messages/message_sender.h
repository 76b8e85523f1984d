// The end that sends of a channel between ranks that share no memory (message_channel.h).
#ifndef CGRAPH_RUNTIME_CHANNEL_MESSAGES_MESSAGE_SENDER_H_
#define CGRAPH_RUNTIME_CHANNEL_MESSAGES_MESSAGE_SENDER_H_

#include <cstdint>
#include <memory>

#include "runtime/channel/channel.h"
#include "runtime/channel/messages/message_channel.h"
#include "runtime/channel/messages/message_slots.h"
#include "runtime/device/semaphore_array.h"
#include "runtime/ranks/messenger.h"

namespace cgraph::channel {

// Makes the end of a thread. `to`: the other rank.
std::unique_ptr<Channel> MakeMessageSender(MessageSlots slots, ranks::Messenger& messenger,
                                           uint32_t tag, uint32_t to);
// The same on a queue. `copied`: one semaphore, of messages that are in their slots.
std::unique_ptr<Channel> MakeQueueMessageSender(MessageSlots slots, ranks::Messenger& messenger,
                                                uint32_t tag, uint32_t to, const QueueEnd& end,
                                                device::SemaphoreArray copied);

}  // namespace cgraph::channel

#endif  // CGRAPH_RUNTIME_CHANNEL_MESSAGES_MESSAGE_SENDER_H_
