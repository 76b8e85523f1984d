// A collective among members that the host drives and members on queues, in one process.
//
// The host's members take part in a collective among threads, `carried`. For each member on a queue
// the issuing thread takes part in it, too, with copies in pinned memory: the queue copies the
// member's values there and signals; the thread waits for the signal, does the member's share and,
// when all members have done theirs, issues the copies of its result.
#ifndef CGRAPH_RUNTIME_TRANSPORT_QUEUE_HOSTED_COLLECTIVE_H_
#define CGRAPH_RUNTIME_TRANSPORT_QUEUE_HOSTED_COLLECTIVE_H_

#include <memory>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/device.h"
#include "runtime/transport/collective.h"

namespace cgraph::transport {

// `carried` is the collective of this shape that moves the bytes; `on_queue` says which members are
// on queues. `host` is the caller's device, in whose memory the copies lie. kInvalid when there is
// none left.
Result<std::unique_ptr<Collective>> MakeHostedCollective(const CollectiveShape& shape,
                                                         std::unique_ptr<Collective> carried,
                                                         const std::vector<bool>& on_queue,
                                                         device::Device& host);

}  // namespace cgraph::transport

#endif  // CGRAPH_RUNTIME_TRANSPORT_QUEUE_HOSTED_COLLECTIVE_H_
