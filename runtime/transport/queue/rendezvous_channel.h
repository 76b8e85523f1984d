// A channel between two queues that carry out communications by themselves, in one process.
//
// The sender signals that its values are there and waits until they were taken; the receiver waits,
// copies them from where they lie, and signals. All of it happens in the queues: once issued, the
// host has no part in it.
//
// The passes keep the order in which streams of one GPU may share hardware: in kShow the sender
// signals and waits for nothing, in kMove the receiver waits for that signal alone, in kEnd the
// sender waits for what the receiver has signalled in kMove. So a work queue issues no wait before
// the signal that ends it.
#ifndef CGRAPH_RUNTIME_TRANSPORT_QUEUE_RENDEZVOUS_CHANNEL_H_
#define CGRAPH_RUNTIME_TRANSPORT_QUEUE_RENDEZVOUS_CHANNEL_H_

#include <memory>

#include "runtime/base/status.h"
#include "runtime/base/sync/semaphore.h"
#include "runtime/device/device.h"
#include "runtime/device/semaphore_array.h"
#include "runtime/transport/channel.h"

namespace cgraph::transport {

// `host` is the caller's device: the semaphores lie in its memory. kInvalid when there is none
// left.
Result<std::unique_ptr<Channel>> MakeRendezvousChannel(device::Device& host);

}  // namespace cgraph::transport

#endif  // CGRAPH_RUNTIME_TRANSPORT_QUEUE_RENDEZVOUS_CHANNEL_H_
