// A buffered channel with an end on a queue, or two, or a rendezvous with one or between devices
// that do not reach each other: messages lie in slots of pinned memory, which the host and all
// devices reach.
//
// The sender copies into a slot and signals that the message is there; the receiver copies it out
// and signals that the slot is free. An end of the host's looks at the same two semaphores. A queue
// never waits for the host: its end is issued when the host has done its part. What a stream would
// wait for, the issuing thread has then seen already (ReadyToSend, ReadyToReceive).
//
// A message of the host's brings its poison flag with it, one for each slot. A message of a queue
// has none: when it is issued, the host does not know yet what is poisoned. Its receiver looks at
// the flags that the sender looks at (CommStepMaker::Joined).
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/sync/semaphore.h"
#include "runtime/device/memory.h"
#include "runtime/device/semaphore_array.h"
#include "runtime/device/shared_array.h"
#include "runtime/transport/queue/queue_transport.h"

namespace cgraph::transport {
namespace {

// The bytes from one value of a slot to the next one: each begins on a line of its own.
uint64_t Stride(const ChannelShape& shape) {
  return (shape.value_bytes + device::kLineAlign - 1) / device::kLineAlign * device::kLineAlign;
}

class StagedChannel : public Channel {
 public:
  StagedChannel(const ChannelShape& shape, bool host_sends, bool host_receives,
                device::Memory storage, device::SemaphoreArray semaphores,
                device::SharedArray<std::atomic<uint8_t>> poisoned)
      : slots_(shape.outstanding),
        spans_(shape.spans),
        host_sends_(host_sends),
        host_receives_(host_receives),
        storage_(std::move(storage)),
        semaphores_(std::move(semaphores)),
        values_(slots_ * spans_),
        poisoned_(std::move(poisoned)) {
    for (uint64_t i = 0; i < values_.size(); ++i) {
      values_[i].data = storage_.data() + i * Stride(shape);
    }
  }

  void SetEventCounts(EventCount* sender, EventCount* receiver) override {
    shown().AddListener(receiver);
    taken().AddListener(sender);
  }

  // ---- ends of the host's ----

  bool TrySend(uint64_t n, std::span<const BufferSpan> spans, bool poison) override {
    if (!HasRoom(n)) return false;
    for (size_t i = 0; i < spans.size() && !poison; ++i) {
      device::CopyBytes(SlotOf(n)[i].data, spans[i].data, spans[i].bytes);
    }
    poisoned_[n % slots_].store(poison, std::memory_order_relaxed);
    shown().Signal(n + 1);  // releases the flag and the bytes
    return true;
  }
  bool Sent(uint64_t) const override { return true; }
  bool Arrived(uint64_t n) override { return shown().Reached(n + 1); }
  bool Receive(uint64_t n, std::span<const BufferSpan> spans) override {
    for (size_t i = 0; i < spans.size(); ++i) {
      device::CopyBytes(spans[i].data, SlotOf(n)[i].data, spans[i].bytes);
    }
    const bool poison = host_sends_ && Poisoned(n);
    taken().Signal(n + 1);
    return poison;
  }

  // ---- ends on queues ----

  bool ReadyToSend(uint64_t n) const override { return !host_receives_ || HasRoom(n); }
  bool ReadyToReceive(uint64_t n) const override {
    return !host_sends_ || shown().Reached(n + 1);
  }
  // Sent in the first pass: receives of the same group may wait for it in the next one. The wait
  // for a free slot is for a message whose receive stands before this send in the certificate.
  void IssueSend(Pass pass, const QueuedMessage& message) override {
    if (pass != Pass::kShow) return;
    const uint64_t n = message.number;
    if (n >= slots_) message.queue->Wait(&taken(), n + 1 - slots_, message.operation->tag);
    for (uint32_t i = 0; i < message.count && !message.empty; ++i) {
      message.queue->Copy({*message.operation, &message.from[i], &SlotOf(n)[i]});
    }
    message.queue->Signal(&shown(), n + 1);
  }
  void IssueReceive(Pass pass, const QueuedMessage& message) override {
    if (pass != Pass::kMove) return;
    const uint64_t n = message.number;
    message.queue->Wait(&shown(), n + 1, message.operation->tag);
    // The host's send may have failed, which no flag tells that the receive checks.
    const bool poison = host_sends_ && Poisoned(n);
    if (poison && !message.empty) message.queue->Poison(*message.operation);
    for (uint32_t i = 0; i < message.count && !message.empty && !poison; ++i) {
      message.queue->Copy({*message.operation, &SlotOf(n)[i], &message.to[i],
                           /*describes=*/false, /*moves=*/true, /*fills=*/true});
    }
    message.queue->Signal(&taken(), n + 1);
  }

 private:
  TimelineSemaphore& shown() const { return semaphores_[0]; }
  TimelineSemaphore& taken() const { return semaphores_[1]; }
  bool HasRoom(uint64_t n) const { return n < slots_ || taken().Reached(n + 1 - slots_); }
  bool Poisoned(uint64_t n) const {
    return poisoned_[n % slots_].load(std::memory_order_relaxed) != 0;
  }
  device::Tensor* SlotOf(uint64_t n) { return values_.data() + n % slots_ * spans_; }

  const uint64_t slots_;  // used in turn: message n lies in slot n % slots_
  const uint64_t spans_;  // most values of a message
  const bool host_sends_, host_receives_;
  device::Memory storage_;
  device::SemaphoreArray semaphores_;
  std::vector<device::Tensor> values_;  // by slot: where they lie
  device::SharedArray<std::atomic<uint8_t>> poisoned_;  // per slot, where the host sends
};

}  // namespace

Result<std::unique_ptr<Channel>> MakeStagedChannel(const ChannelShape& shape, bool host_sends,
                                                   bool host_receives, device::Device& host) {
  const std::string what = "the messages of a channel";
  device::BumpLayout layout;
  for (uint64_t i = 0; i < uint64_t{shape.outstanding} * shape.spans; ++i) {
    layout.Add(Stride(shape));
  }
  auto storage = host.Allocate(layout.size(), device::MemoryKind::pinned, what);
  if (!storage.ok()) return storage.status();
  auto semaphores = device::SemaphoreArray::Make(host, 2, what);
  if (!semaphores.ok()) return semaphores.status();
  auto poisoned = device::SharedArray<std::atomic<uint8_t>>::Make(
      host, host_sends ? shape.outstanding : 0, what);
  if (!poisoned.ok()) return poisoned.status();
  return std::unique_ptr<Channel>(std::make_unique<StagedChannel>(
      shape, host_sends, host_receives, std::move(*storage), std::move(*semaphores),
      std::move(*poisoned)));
}

}  // namespace cgraph::transport
