// A collective that the devices of its members carry out themselves (device/communicator.h), among
// queues of one process, of processes that share memory, or of several machines.
//
// Every member signals that it has come, for reports, and for what the devices' collective does not
// order: rounds in which nothing is moved, and poison flags of other members. Members of other
// machines see neither: there the flags travel in a collective of their own, beside the values, and
// a round that moves nothing waits for no other machine.
#ifndef CGRAPH_RUNTIME_TRANSPORT_NCCL_NATIVE_COLLECTIVE_H_
#define CGRAPH_RUNTIME_TRANSPORT_NCCL_NATIVE_COLLECTIVE_H_

#include <memory>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/communicator.h"
#include "runtime/device/device.h"
#include "runtime/transport/collective.h"

namespace cgraph::transport {

// Returns whether a communicator whose first member is this device would carry out all of this
// collective.
bool CarriesOut(device::Device& first, const CollectiveShape& shape);

// `here`: of a collective among several machines, by member: its device, null where that is on
// another machine; none: all members are here. `tell_flags`: a value may be poisoned, on whatever
// machine. `host` is the caller's device, in whose memory the semaphores lie. kInvalid when there
// is no memory left.
Result<std::unique_ptr<Collective>> MakeNativeCollective(
    const CollectiveShape& shape, std::shared_ptr<device::Communicator> communicator,
    const std::vector<device::Device*>& here, bool tell_flags, device::Device& host);

}  // namespace cgraph::transport

#endif  // CGRAPH_RUNTIME_TRANSPORT_NCCL_NATIVE_COLLECTIVE_H_
