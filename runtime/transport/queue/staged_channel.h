// A buffered channel with an end on a queue, or two, or a rendezvous with one: messages lie in
// slots of pinned memory, which the host and all devices reach.
//
// The sender copies into a slot and signals that the message is there; the receiver copies it out
// and signals that the slot is free. An end of the host's looks at the same two semaphores. A queue
// never waits for the host: its end is issued when the host has done its part. What a stream would
// wait for, the issuing thread has then seen already (ReadyToSend, ReadyToReceive).
//
// A message of the host's brings its poison flag with it, one for each slot. A message of a queue
// has none: when it is issued, the host does not know yet what is poisoned. Its receiver looks at
// the flags that the sender looks at (CommStepMaker::Joined).
#ifndef CGRAPH_RUNTIME_TRANSPORT_QUEUE_STAGED_CHANNEL_H_
#define CGRAPH_RUNTIME_TRANSPORT_QUEUE_STAGED_CHANNEL_H_

#include <memory>

#include "runtime/base/status.h"
#include "runtime/device/device.h"
#include "runtime/transport/channel.h"

namespace cgraph::transport {

// Which ends the host drives; the others are on queues.
struct HostEnds {
  bool sends = false;
  bool receives = false;
};

// `host` is the caller's device, in whose memory the slots lie. kInvalid when there is none left.
Result<std::unique_ptr<Channel>> MakeStagedChannel(const ChannelShape& shape, HostEnds ends,
                                                   device::Device& host);

}  // namespace cgraph::transport

#endif  // CGRAPH_RUNTIME_TRANSPORT_QUEUE_STAGED_CHANNEL_H_
