// LocalMember: a member of this rank of a collective between ranks, with what it sends to others.
#ifndef CGRAPH_RUNTIME_TRANSPORT_MPI_COLLECTIVE_LOCAL_MEMBER_H_
#define CGRAPH_RUNTIME_TRANSPORT_MPI_COLLECTIVE_LOCAL_MEMBER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/cluster/messenger.h"
#include "runtime/transport/collective.h"
#include "runtime/transport/mpi/collective/outgoing_message.h"

namespace cgraph::transport {

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
