// A channel whose ends are at two ranks that share no memory: a message is sent as soon as the
// sender gives it, into one of `capacity` slots of the receiver, which tells the sender when it has
// taken it out. A rank that has neither end has an object that does nothing.
#ifndef CGRAPH_RUNTIME_CHANNEL_MESSAGES_MESSAGE_CHANNEL_H_
#define CGRAPH_RUNTIME_CHANNEL_MESSAGES_MESSAGE_CHANNEL_H_

#include <cstdint>
#include <memory>

#include "runtime/channel/channel.h"
#include "runtime/ranks/messenger.h"
#include "runtime/status/status.h"

namespace cgraph::channel {

// `tag`: of this channel alone, the same at both ranks. kInvalid when there is no memory for the
// messages.
Result<std::unique_ptr<Channel>> MakeMessageChannel(const ChannelShape& shape,
                                                    ranks::Messenger& messenger, uint32_t tag,
                                                    uint32_t from_rank, uint32_t to_rank);

}  // namespace cgraph::channel

#endif  // CGRAPH_RUNTIME_CHANNEL_MESSAGES_MESSAGE_CHANNEL_H_
