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
#include <utility>

#include "runtime/base/sync/semaphore.h"
#include "runtime/device/semaphore_array.h"
#include "runtime/transport/queue/queue_transport.h"

namespace cgraph::transport {
namespace {

class RendezvousChannel : public Channel {
 public:
  explicit RendezvousChannel(device::SemaphoreArray semaphores)
      : semaphores_(std::move(semaphores)) {}

  void SetEventCounts(EventCount* sender, EventCount* receiver) override {
    shown().AddListener(receiver);
    taken().AddListener(sender);
  }

  // Both ends are on queues: the host drives none.
  bool TrySend(uint64_t, std::span<const BufferSpan>, bool) override { return false; }
  bool Sent(uint64_t n) const override { return taken().Reached(n + 1); }
  bool Arrived(uint64_t n) override { return shown().Reached(n + 1); }
  bool Receive(uint64_t, std::span<const BufferSpan>) override { return true; }

  void IssueSend(Pass pass, const QueuedMessage& message) override {
    if (pass == Pass::kShow) message.queue->Signal(&shown(), message.number + 1);
    // What is behind in the sender's queue may write where the values lie, so it waits until they
    // were taken.
    if (pass == Pass::kEnd) {
      message.queue->Wait(&taken(), message.number + 1, message.operation->tag);
    }
  }
  void IssueReceive(Pass pass, const QueuedMessage& message) override {
    if (pass != Pass::kMove) return;
    // An empty round signals and waits as others do: the semaphores count messages of all rounds.
    message.queue->Wait(&shown(), message.number + 1, message.operation->tag);
    for (uint32_t i = 0; i < message.count && !message.empty; ++i) {
      message.queue->Copy({*message.operation, &message.from[i], &message.to[i]});
    }
    message.queue->Signal(&taken(), message.number + 1);
  }

 private:
  TimelineSemaphore& shown() const { return semaphores_[0]; }
  TimelineSemaphore& taken() const { return semaphores_[1]; }

  device::SemaphoreArray semaphores_;
};

}  // namespace

Result<std::unique_ptr<Channel>> MakeRendezvousChannel(device::Device& host) {
  auto semaphores =
      device::SemaphoreArray::Make(host, 2, "the ends of a channel");
  if (!semaphores.ok()) return semaphores.status();
  return std::unique_ptr<Channel>(std::make_unique<RendezvousChannel>(std::move(*semaphores)));
}

}  // namespace cgraph::transport
