// The carrier within one process: the ends are in one address space, and the host moves the bytes.
// It serves what a plan carries by local, shm or nccl, on devices whose memory the host can reach.
#ifndef CGRAPH_RUNTIME_CHANNEL_LOCAL_LOCAL_CARRIER_H_
#define CGRAPH_RUNTIME_CHANNEL_LOCAL_LOCAL_CARRIER_H_

#include "runtime/channel/carrier.h"

namespace cgraph::channel {

const Carrier& LocalCarrier();

}  // namespace cgraph::channel

#endif  // CGRAPH_RUNTIME_CHANNEL_LOCAL_LOCAL_CARRIER_H_
