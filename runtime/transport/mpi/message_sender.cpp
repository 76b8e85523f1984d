#include "runtime/transport/mpi/message_ends.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <list>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "runtime/device/memory.h"
#include "runtime/device/operations.h"

namespace cgraph::transport {
namespace {

// The end of a thread that sends.
class Sender : public Channel, public cluster::Listener {
 public:
  Sender(MessageSlots slots, cluster::Messenger& messenger, uint32_t tag, uint32_t to)
      : slots_(std::move(slots)), busy_(slots_.count), messenger_(messenger), tag_(tag), to_(to) {
    messenger_.Listen(tag_, this);
  }
  // Where a rank is lost the MPI may hold memory for ever, and write to it or read it: then it
  // stays until the process ends.
  ~Sender() override {
    messenger_.Listen(tag_, nullptr);
    if (!messenger_.given_up()) return;
    messenger_.Keep(std::move(slots_.memory));
    messenger_.Keep(std::move(busy_));
    messenger_.Keep(std::move(answers_));
  }

  void SetEventCounts(EventCount* sender, EventCount*) override {
    event_count_ = sender;
  }

  bool TrySend(uint64_t n, std::span<const BufferSpan> spans, bool poison) override {
    if (!HasRoom(n)) return false;
    const uint64_t values = poison ? 0 : std::min<uint64_t>(spans.size(), slots_.spans);
    uint64_t at = FirstValue(values);
    for (uint64_t i = 0; i < values; ++i) {
      slots_.SetSize(n, i, spans[i].bytes);
      device::CopyBytes(slots_.At(n) + at, spans[i].data, spans[i].bytes);
      at = AfterValue(at, spans[i].bytes);
    }
    Send(n, {n, poison, values}, at);
    return true;
  }
  // The values were copied into the slot, so the sender needs nothing more.
  bool Sent(uint64_t) const override { return true; }
  bool Arrived(uint64_t) override { return false; }
  bool Receive(uint64_t, std::span<const BufferSpan>) override { return true; }

 protected:
  // The message before in the slot may be taken at the receiver while the MPI here still holds it
  // (`busy_`), so both are asked.
  bool HasRoom(uint64_t n) const {
    return taken_.load(std::memory_order_acquire) + slots_.count > n &&
           !busy_[n % slots_.count].load(std::memory_order_acquire);
  }
  // Sends what is in the slot, of which `bytes` are the message.
  void Send(uint64_t n, MessageHeader header, uint64_t bytes) {
    header.answer = messenger_.TakeAnswer(to_).value_or(cluster::Answer());
    slots_.Write(n, header);
    messenger_.Send(to_, tag_, {slots_.At(n), cluster::MessageBytes(bytes)},
                    &busy_[n % slots_.count]);
  }
  const MessageSlots& slots() const { return slots_; }

 private:
  // The receiver says how many messages it has taken, in a message of its own or in that of
  // another channel, which may overtake those.
  std::span<std::byte> BufferFor(uint32_t, uint64_t) override {
    auto free = std::find_if(answers_.begin(), answers_.end(),
                             [](const AnswerMemory& answer) { return !answer.coming; });
    if (free == answers_.end()) free = answers_.emplace(free);
    free->coming = true;
    return free->bytes;
  }
  bool OnMessage(uint32_t, std::span<const std::byte> message) override {
    uint64_t taken = 0;
    if (message.size() < sizeof(taken)) return false;
    std::memcpy(&taken, message.data(), sizeof(taken));
    for (AnswerMemory& answer : answers_) {
      if (answer.bytes == message.data()) answer.coming = false;
    }
    // An answer of its own may be overtaken by a later one that travels along with a message.
    if (taken <= taken_.load(std::memory_order_relaxed)) return false;
    taken_.store(taken, std::memory_order_release);
    event_count_->Notify();
    return true;
  }

  MessageSlots slots_;
  std::vector<std::atomic<bool>> busy_;  // by slot: it is being sent
  struct AnswerMemory {
    alignas(64) std::byte bytes[cluster::Wire::kMessageUnit];
    bool coming = false;
  };
  std::list<AnswerMemory> answers_;  // mostly one
  cluster::Messenger& messenger_;
  const uint32_t tag_, to_;
  EventCount* event_count_ = nullptr;
  std::atomic<uint64_t> taken_{0};
};

// The end of a queue that sends.
class QueueSender final : public Sender {
 public:
  QueueSender(MessageSlots slots, cluster::Messenger& messenger, uint32_t tag, uint32_t to,
              const QueueEnd& end, device::SemaphoreArray copied)
      : Sender(std::move(slots), messenger, tag, to),
        device_(*end.device),
        copied_(std::move(copied)),
        issued_(this->slots().count),
        values_(size_t{this->slots().count} * this->slots().spans) {
    copied_[0].AddListener(end.relayer);
  }

  bool ReadyToSend(uint64_t n) const override { return HasRoom(n); }
  // Values are copied whether or not they are poisoned: the host looks at the flags when the copies
  // are there.
  void IssueSend(Pass pass, const QueuedMessage& message) override {
    if (pass != Pass::kShow) return;
    const uint64_t n = message.number, values = message.empty ? 0 : message.count;
    uint64_t at = FirstValue(values);
    for (uint64_t i = 0; i < values; ++i) {
      device::Tensor& value = values_[n % slots().count * slots().spans + i];
      const uint64_t bytes = message.from[i].bytes();
      slots().SetSize(n, i, bytes);
      value.data = slots().At(n) + at;
      message.queue->Copy({*message.operation, &message.from[i], &value});
      at = AfterValue(at, bytes);
    }
    message.queue->Signal(&copied_[0], n + 1);
    // The queue may have signalled before this is written: Relay() goes by `issued_until_`, too.
    issued_[n % slots().count] = {message.operation->bindings, message.checks, values, at,
                                  message.empty};
    issued_until_.store(n + 1, std::memory_order_release);
  }

  // One thread at a time sends, so messages keep their order; another one that comes meanwhile has
  // nothing to do. The flags are read here, not when the copy was issued: operations before it in
  // the queue, which may fail, are over now.
  bool Relay() override {
    std::unique_lock lock(relaying_, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    const uint64_t copied =
        std::min(copied_[0].value(), issued_until_.load(std::memory_order_acquire));
    // A device that fails makes signals in place of those that do not come.
    if (copied == sent_ || !device_.Failure().ok()) return false;
    for (; sent_ < copied; ++sent_) {
      const Issued& message = issued_[sent_ % slots().count];
      const bool poison = message.empty || device::AnyPoisoned(message.checks, *message.bindings);
      const uint64_t values = poison ? 0 : message.values;
      Send(sent_, {sent_, poison, values}, poison ? FirstValue(0) : message.bytes);
    }
    return true;
  }

 private:
  // Issued: what is in a slot, or will be. Its frame is not used again before it is received.
  struct Issued {
    const device::Bindings* bindings = nullptr;
    std::span<const uint32_t> checks;
    uint64_t values = 0, bytes = 0;
    bool empty = false;
  };

  const device::Device& device_;
  device::SemaphoreArray copied_;  // one: messages that are in their slots
  std::vector<Issued> issued_;     // by slot
  std::vector<device::Tensor> values_;
  std::atomic<uint64_t> issued_until_{0};
  std::mutex relaying_;
  uint64_t sent_ = 0;  // messages; under relaying_
};

}  // namespace

std::unique_ptr<Channel> MakeMessageSender(MessageSlots slots, cluster::Messenger& messenger,
                                           uint32_t tag, uint32_t to) {
  return std::make_unique<Sender>(std::move(slots), messenger, tag, to);
}

std::unique_ptr<Channel> MakeQueueMessageSender(MessageSlots slots, cluster::Messenger& messenger,
                                                uint32_t tag, uint32_t to, const QueueEnd& end,
                                                device::SemaphoreArray copied) {
  return std::make_unique<QueueSender>(std::move(slots), messenger, tag, to, end,
                                       std::move(copied));
}

}  // namespace cgraph::transport
