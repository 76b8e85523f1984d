// A collective whose members are at several ranks, some of which share no memory. Each member
// sends every other rank what the members there need of its input (sections.h), and each makes its
// own result of what came, reducing in the order of members, so results have the same bits
// everywhere.
// A large all_reduce has a second round of messages: each member reduces a slice and sends it to
// the other ranks. A rank without a member has an object that does nothing.
//
// The thread that drives a member sends its messages and makes its result. The thread that polls
// takes the messages of members elsewhere, and copies the slices that they have reduced into the
// results here. What one of them shows another goes through MemberRounds.
#ifndef CGRAPH_RUNTIME_TRANSPORT_MPI_COLLECTIVE_MESSAGE_COLLECTIVE_H_
#define CGRAPH_RUNTIME_TRANSPORT_MPI_COLLECTIVE_MESSAGE_COLLECTIVE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/cluster/messenger.h"
#include "runtime/transport/collective.h"

namespace cgraph::transport {

// `first_tag`: of this collective alone, as are the tags behind it, one for each member; the same
// at all ranks. `ranks`: of each member. kInvalid when there is no memory for the messages.
Result<std::unique_ptr<Collective>> MakeMessageCollective(const CollectiveShape& shape,
                                                          cluster::Messenger& messenger,
                                                          uint32_t first_tag,
                                                          std::vector<uint32_t> ranks);

}  // namespace cgraph::transport

#endif  // CGRAPH_RUNTIME_TRANSPORT_MPI_COLLECTIVE_MESSAGE_COLLECTIVE_H_
