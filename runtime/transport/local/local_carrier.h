// The carrier within one process: the ends are in one address space, and the host moves the bytes.
// It serves what a plan carries by local, shm or nccl, on devices whose memory the host can reach.
#ifndef CGRAPH_RUNTIME_TRANSPORT_LOCAL_LOCAL_CARRIER_H_
#define CGRAPH_RUNTIME_TRANSPORT_LOCAL_LOCAL_CARRIER_H_

#include "runtime/transport/carrier.h"

namespace cgraph::transport {

const Carrier& LocalCarrier();

}  // namespace cgraph::transport

#endif  // CGRAPH_RUNTIME_TRANSPORT_LOCAL_LOCAL_CARRIER_H_
