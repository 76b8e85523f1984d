// What the mpi transport is made of: channels and collectives whose ends are at ranks that share no
// memory. Each is in the file of its name. A rank without an end has an object that does nothing.
// Both return kInvalid when there is no memory for the messages.
#ifndef CGRAPH_RUNTIME_TRANSPORT_MPI_MPI_TRANSPORT_H_
#define CGRAPH_RUNTIME_TRANSPORT_MPI_MPI_TRANSPORT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/cluster/messenger.h"
#include "runtime/transport/channel.h"
#include "runtime/transport/collective.h"
#include "runtime/transport/mpi/message_ends.h"

namespace cgraph::transport {

// `tag`: of this channel alone, the same at both ranks.
Result<std::unique_ptr<Channel>> MakeMessageChannel(
    const ChannelShape& shape, cluster::Messenger& messenger, uint32_t tag, uint32_t from_rank,
    uint32_t to_rank, const std::optional<QueueEnd>& queue_end = std::nullopt);

// `first_tag`: of this collective alone, as are the tags behind it, one for each member; the same
// at all ranks. `ranks`: of each member.
Result<std::unique_ptr<Collective>> MakeMessageCollective(const CollectiveShape& shape,
                                                          cluster::Messenger& messenger,
                                                          uint32_t first_tag,
                                                          std::vector<uint32_t> ranks);

}  // namespace cgraph::transport

#endif  // CGRAPH_RUNTIME_TRANSPORT_MPI_MPI_TRANSPORT_H_
