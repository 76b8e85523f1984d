// A collective among queues that carry out communications by themselves, in one process.
//
// Every member signals that its values are there, waits for all others, and makes its own result
// from their values where these lie: by copies, or by a kernel that reduces in rank order, so that
// results have the same bits at all members. Then it signals that it has left, and waits until all
// others have: only then may what is behind in its queue write where they read its values. The
// three steps are the three passes, so a work queue issues no wait before the signal that ends it.
#ifndef CGRAPH_RUNTIME_TRANSPORT_QUEUE_QUEUED_COLLECTIVE_H_
#define CGRAPH_RUNTIME_TRANSPORT_QUEUE_QUEUED_COLLECTIVE_H_

#include <memory>
#include <span>

#include "runtime/base/status.h"
#include "runtime/device/device.h"
#include "runtime/transport/collective.h"

namespace cgraph::transport {

// `devices`: of the members; null for one that another rank serves. `host` is the caller's device,
// in whose memory the semaphores lie. `frames`: of the graph. kUnsupported when a device cannot
// reduce these dtypes, kInvalid when there is no memory left.
Result<std::unique_ptr<Collective>> MakeQueuedCollective(const CollectiveShape& shape,
                                                         std::span<device::Device* const> devices,
                                                         device::Device& host, uint32_t frames);

}  // namespace cgraph::transport

#endif  // CGRAPH_RUNTIME_TRANSPORT_QUEUE_QUEUED_COLLECTIVE_H_
