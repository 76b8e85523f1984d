#include "runtime/transport/mpi/message_ends.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "runtime/device/memory.h"
#include "runtime/device/operations.h"

namespace cgraph::transport {
namespace {

// The end of a thread that receives.
class Receiver : public Channel, public cluster::Listener {
 public:
  Receiver(MessageSlots slots, cluster::Messenger& messenger, uint32_t tag, uint32_t from)
      : slots_(std::move(slots)), messenger_(messenger), tag_(tag), from_(from) {
    messenger_.Listen(tag_, this);
  }
  ~Receiver() override {
    messenger_.Listen(tag_, nullptr);
    if (messenger_.given_up()) messenger_.Keep(std::move(slots_.memory));
  }

  void SetEventCounts(EventCount*, EventCount* receiver) override {
    event_count_ = receiver;
  }
  bool TrySend(uint64_t, std::span<const BufferSpan>, bool) override { return false; }
  bool Sent(uint64_t) const override { return false; }

  bool Arrived(uint64_t n) override { return HasArrived(n); }
  bool Receive(uint64_t n, std::span<const BufferSpan> spans) override {
    const MessageHeader header = slots_.Read(n);
    uint64_t at = FirstValue(header.values);
    // Both sides have the same types, and extents travel before the values that they measure.
    for (size_t i = 0; i < std::min<size_t>(spans.size(), header.values); ++i) {
      const uint64_t sent = std::min(slots_.SizeOf(n, i), slots_.each - at);
      device::CopyBytes(spans[i].data, slots_.At(n) + at, std::min(spans[i].bytes, sent));
      at = std::min(AfterValue(at, sent), slots_.each);
    }
    Answer(n + 1);  // behind the copies: the sender may write the slot from then on
    return Poisoned(n, header);
  }

 protected:
  bool HasArrived(uint64_t n) const { return arrived_.load(std::memory_order_acquire) > n; }
  // A message with another number than the one that is due is not trusted to be anything.
  static bool Poisoned(uint64_t n, const MessageHeader& header) {
    return header.poison != 0 || header.number != n;
  }
  // Tells the sender how many messages were taken out.
  void Answer(uint64_t taken) {
    taken_.store(taken, std::memory_order_release);
    messenger_.SendAnswer(from_, {tag_, taken}, delay_);
  }
  uint64_t answered() const { return taken_.load(std::memory_order_relaxed); }
  const MessageSlots& slots() const { return slots_; }

 private:
  // Called by the thread that polls. No sender of ours sends what has no free slot, so such a
  // message is dropped. The acquire pairs with Answer(): the slot was read before it is written
  // again.
  std::span<std::byte> BufferFor(uint32_t, uint64_t bytes) override {
    const bool free = begun_ - taken_.load(std::memory_order_acquire) < slots_.count;
    if (!free || bytes > slots_.each || bytes < sizeof(MessageHeader)) return {};
    return {slots_.At(begun_++), slots_.each};
  }
  bool OnMessage(uint32_t from, std::span<const std::byte> message) override {
    MessageHeader header;
    std::memcpy(&header, message.data(), sizeof(header));  // at least: see BufferFor()
    if (header.answer.tag != 0) messenger_.PassOn(from, header.answer);
    // One thread polls at a time, so no read-modify-write is needed.
    arrived_.store(arrived_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    event_count_->Notify();
    return true;
  }

  MessageSlots slots_;
  cluster::Messenger& messenger_;
  const uint32_t tag_, from_;
  EventCount* event_count_ = nullptr;
  uint64_t begun_ = 0;  // messages that have a slot
  std::atomic<uint64_t> taken_{0};
  std::atomic<uint64_t> arrived_{0};
  cluster::AnswerDelay delay_;
};

// The end of a queue that receives.
class QueueReceiver final : public Receiver {
 public:
  QueueReceiver(MessageSlots slots, cluster::Messenger& messenger, uint32_t tag, uint32_t from,
                const QueueEnd& end, device::SemaphoreArray copied)
      : Receiver(std::move(slots), messenger, tag, from),
        copied_(std::move(copied)),
        values_(size_t{this->slots().count} * this->slots().spans) {
    copied_[0].AddListener(end.relayer);
  }

  bool ReadyToReceive(uint64_t n) const override { return HasArrived(n); }
  void IssueReceive(Pass pass, const QueuedMessage& message) override {
    if (pass != Pass::kMove) return;
    const uint64_t n = message.number;
    if (!message.empty && !IssueCopies(message)) message.queue->Poison(*message.operation);
    message.queue->Signal(&copied_[0], n + 1);
  }

  // Answers for what the queue has taken out. One answer is for all messages up to it.
  bool Relay() override {
    std::unique_lock lock(relaying_, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    const uint64_t copied = copied_[0].value();
    if (copied == answered()) return false;
    Answer(copied);
    return true;
  }

 private:
  // False, and nothing is issued, where the message has no bytes worth moving, or is not what the
  // plan says: the sizes come from another process, and a copy beyond the slot would read what is
  // not its own.
  bool IssueCopies(const QueuedMessage& message) {
    const uint64_t n = message.number;
    const MessageHeader header = slots().Read(n);
    if (Poisoned(n, header) || header.values < message.count) return false;
    const std::span<device::Tensor> values(values_.data() + n % slots().count * slots().spans,
                                           message.count);
    uint64_t at = FirstValue(header.values);
    for (uint32_t i = 0; i < message.count; ++i) {
      if (at > slots().each || message.to[i].bytes() > slots().each - at) return false;
      values[i].data = slots().At(n) + at;
      at = AfterValue(at, slots().SizeOf(n, i));
    }
    for (uint32_t i = 0; i < message.count; ++i) {
      message.queue->Copy({*message.operation, &values[i], &message.to[i],
                           /*describes=*/false, /*moves=*/true, /*fills=*/true});
    }
    return true;
  }

  device::SemaphoreArray copied_;  // one: messages that were taken out of their slots
  std::vector<device::Tensor> values_;
  std::mutex relaying_;
};

}  // namespace

std::unique_ptr<Channel> MakeMessageReceiver(MessageSlots slots, cluster::Messenger& messenger,
                                             uint32_t tag, uint32_t from) {
  return std::make_unique<Receiver>(std::move(slots), messenger, tag, from);
}

std::unique_ptr<Channel> MakeQueueMessageReceiver(MessageSlots slots, cluster::Messenger& messenger,
                                                  uint32_t tag, uint32_t from, const QueueEnd& end,
                                                  device::SemaphoreArray copied) {
  return std::make_unique<QueueReceiver>(std::move(slots), messenger, tag, from, end,
                                         std::move(copied));
}

}  // namespace cgraph::transport
