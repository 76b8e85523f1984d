// A collective whose members are at several ranks, some of which share no memory: every rank gets a
// copy of all inputs and computes the results of its own members from them, in rank order, so
// results have the same bits everywhere. A rank without a member has an object that does nothing.
#ifndef CGRAPH_RUNTIME_CHANNEL_MESSAGES_MESSAGE_COLLECTIVE_H_
#define CGRAPH_RUNTIME_CHANNEL_MESSAGES_MESSAGE_COLLECTIVE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/channel/collective.h"
#include "runtime/device/shared_heap.h"
#include "runtime/ranks/messenger.h"
#include "runtime/status/status.h"

namespace cgraph::channel {

// `first_tag`: of this collective alone, as are the tags behind it, one for each member; the same
// at all ranks. `ranks`: of each member. kInvalid when there is no memory for the messages.
Result<std::unique_ptr<Collective>> MakeMessageCollective(const CollectiveShape& shape,
                                                          ranks::Messenger& messenger,
                                                          uint32_t first_tag,
                                                          std::vector<uint32_t> ranks,
                                                          device::SharedHeap& heap);

}  // namespace cgraph::channel

#endif  // CGRAPH_RUNTIME_CHANNEL_MESSAGES_MESSAGE_COLLECTIVE_H_
