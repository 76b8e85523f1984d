// What the queue transport is made of: channels and collectives with ends on queues that carry out
// communications by themselves, within the ranks that share memory. Each is in the file of its
// name. `host` is the caller's device, in whose memory semaphores and slots lie; all return
// kInvalid when there is none left.
#ifndef CGRAPH_RUNTIME_TRANSPORT_QUEUE_QUEUE_TRANSPORT_H_
#define CGRAPH_RUNTIME_TRANSPORT_QUEUE_QUEUE_TRANSPORT_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/device.h"
#include "runtime/transport/channel.h"
#include "runtime/transport/collective.h"

namespace cgraph::transport {

// Makes a rendezvous between two queues whose devices reach each other.
Result<std::unique_ptr<Channel>> MakeRendezvousChannel(device::Device& host);

// Makes a buffered channel with an end on a queue, or two, or a rendezvous with one or between
// devices that do not reach each other. `host_sends`, `host_receives`: the host drives that end.
Result<std::unique_ptr<Channel>> MakeStagedChannel(const ChannelShape& shape, bool host_sends,
                                                   bool host_receives, device::Device& host);

// Makes a collective among queues. `devices`: of the members; null for one that another rank
// serves. `frames`: of the graph. kUnsupported when a device cannot reduce these dtypes.
Result<std::unique_ptr<Collective>> MakeQueuedCollective(const CollectiveShape& shape,
                                                         std::span<device::Device* const> devices,
                                                         device::Device& host, uint32_t frames);

// Makes a collective among members that the host drives and members on queues. `carried` is the
// collective of this shape that moves the bytes; `on_queue` says which members are on queues.
Result<std::unique_ptr<Collective>> MakeHostedCollective(const CollectiveShape& shape,
                                                         std::unique_ptr<Collective> carried,
                                                         const std::vector<bool>& on_queue,
                                                         device::Device& host);

}  // namespace cgraph::transport

#endif  // CGRAPH_RUNTIME_TRANSPORT_QUEUE_QUEUE_TRANSPORT_H_
