#include "runtime/channel/messages/message_channel.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <list>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/device/memory.h"
#include "runtime/device/operations.h"
#include "runtime/device/semaphore_array.h"
#include "runtime/device/sync/semaphore.h"

namespace cgraph::channel {
namespace {

using ranks::MessageBytes;
using ranks::Messenger;

// Header: what a message begins with; an answer of another channel may travel in it. Behind it
// stand the sizes of its values, as 8 bytes each, and behind those the values, each at a multiple
// of 16 bytes. A queue sends values whose extents a kernel has made up to their bound, and a thread
// sends what there is of them: so the receiver goes by the sizes that the message states.
struct Header {
  uint64_t number = 0;
  uint64_t poison = 0;
  uint64_t values = 0;
  ranks::Answer answer;
};
constexpr uint64_t kUnit = ranks::Wire::kMessageUnit;

uint64_t FirstValue(uint64_t values) {
  return (sizeof(Header) + 8 * values + kUnit - 1) / kUnit * kUnit;
}
uint64_t AfterValue(uint64_t at, uint64_t bytes) { return (at + bytes + 15) & ~uint64_t{15}; }

// Slots: room for messages, used in turn.
struct Slots {
  device::Memory memory;
  uint64_t each = 0;
  uint32_t count = 0;
  uint32_t spans = 0;  // most values of a message

  std::byte* At(uint64_t n) const { return memory.data() + n % count * each; }

  Header Read(uint64_t n) const {
    Header header;
    std::memcpy(&header, At(n), sizeof(header));
    header.values = std::min<uint64_t>(header.values, spans);
    return header;
  }
  void Write(uint64_t n, const Header& header) const {
    std::memcpy(At(n), &header, sizeof(header));
  }
  uint64_t SizeOf(uint64_t n, uint64_t value) const {
    uint64_t bytes = 0;
    std::memcpy(&bytes, At(n) + sizeof(Header) + 8 * value, sizeof(bytes));
    return std::min(bytes, each);
  }
  void SetSize(uint64_t n, uint64_t value, uint64_t bytes) const {
    std::memcpy(At(n) + sizeof(Header) + 8 * value, &bytes, sizeof(bytes));
  }
};

// Makes slots in ordinary memory or, where a queue reaches for them, in that of `host`.
Result<Slots> MakeSlots(const ChannelShape& shape, device::Device* host) {
  const char* const what = "a channel's messages";
  device::BumpLayout layout;
  layout.Add(FirstValue(shape.spans));
  layout.Add(shape.message_bytes);
  layout.Add(16ull * shape.spans);
  Slots slots;
  slots.spans = shape.spans;
  slots.count = std::max(
      1u, shape.capacity == 0 ? shape.outstanding : std::min(shape.outstanding, shape.capacity));
  slots.each = MessageBytes(layout.size());
  if (layout.size() > UINT64_MAX / 2 / slots.count) {
    return Status(StatusCode::kInvalid, std::string("no memory for ") + what);
  }
  const uint64_t bytes = slots.each * slots.count;
  auto memory = host == nullptr ? device::Memory::Allocate(bytes, what)
                                : host->Allocate(bytes, device::MemoryKind::pinned, what);
  if (!memory.ok()) return memory.status();
  slots.memory = std::move(*memory);
  return slots;
}

class Sender : public Channel, public ranks::Listener {
 public:
  Sender(Slots slots, Messenger& messenger, uint32_t tag, uint32_t to)
      : slots_(std::move(slots)), busy_(slots_.count), messenger_(messenger), tag_(tag), to_(to) {
    messenger_.Listen(tag_, this);
  }
  ~Sender() override {
    messenger_.Listen(tag_, nullptr);
    if (!messenger_.given_up()) return;
    messenger_.Keep(std::move(slots_.memory));
    messenger_.Keep(std::move(busy_));
    messenger_.Keep(std::move(answers_));
  }

  void SetEventCounts(device::EventCount* sender, device::EventCount*) override {
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
  bool Sent(uint64_t) const override { return true; }
  bool Arrived(uint64_t) override { return false; }
  bool Receive(uint64_t, std::span<const BufferSpan>) override { return true; }

 protected:
  // The message before in the slot was taken, and yet perhaps nobody has found that it has left.
  bool HasRoom(uint64_t n) const {
    return taken_.load(std::memory_order_acquire) + slots_.count > n &&
           !busy_[n % slots_.count].load(std::memory_order_acquire);
  }
  // Sends what is in the slot, of which `bytes` are the message.
  void Send(uint64_t n, Header header, uint64_t bytes) {
    header.answer = messenger_.TakeAnswer(to_).value_or(ranks::Answer());
    slots_.Write(n, header);
    messenger_.Send(to_, tag_, {slots_.At(n), MessageBytes(bytes)}, &busy_[n % slots_.count]);
  }
  const Slots& slots() const { return slots_; }

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
    if (taken <= taken_.load(std::memory_order_relaxed)) return false;
    taken_.store(taken, std::memory_order_release);
    event_count_->Notify();
    return true;
  }

  Slots slots_;
  std::vector<std::atomic<bool>> busy_;  // by slot: it is being sent
  struct AnswerMemory {
    alignas(64) std::byte bytes[kUnit];
    bool coming = false;
  };
  std::list<AnswerMemory> answers_;  // mostly one
  Messenger& messenger_;
  const uint32_t tag_, to_;
  device::EventCount* event_count_ = nullptr;
  std::atomic<uint64_t> taken_{0};
};

// The end of a queue that sends.
class QueueSender final : public Sender {
 public:
  QueueSender(Slots slots, Messenger& messenger, uint32_t tag, uint32_t to, const QueueEnd& end,
              device::SemaphoreArray copied)
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
    issued_[n % slots().count] = {message.operation->bindings, message.checks, values, at,
                                  message.empty};
    issued_until_.store(n + 1, std::memory_order_release);
  }

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
  uint64_t sent_ = 0;  // under relaying_
};

class Receiver : public Channel, public ranks::Listener {
 public:
  Receiver(Slots slots, Messenger& messenger, uint32_t tag, uint32_t from)
      : slots_(std::move(slots)), messenger_(messenger), tag_(tag), from_(from) {
    messenger_.Listen(tag_, this);
  }
  ~Receiver() override {
    messenger_.Listen(tag_, nullptr);
    if (messenger_.given_up()) messenger_.Keep(std::move(slots_.memory));
  }

  void SetEventCounts(device::EventCount*, device::EventCount* receiver) override {
    event_count_ = receiver;
  }
  bool TrySend(uint64_t, std::span<const BufferSpan>, bool) override { return false; }
  bool Sent(uint64_t) const override { return false; }

  bool Arrived(uint64_t n) override { return HasArrived(n); }
  bool Receive(uint64_t n, std::span<const BufferSpan> spans) override {
    const Header header = slots_.Read(n);
    uint64_t at = FirstValue(header.values);
    // Both sides have the same types, and extents travel before the values that they measure.
    for (size_t i = 0; i < std::min<size_t>(spans.size(), header.values); ++i) {
      const uint64_t sent = std::min(slots_.SizeOf(n, i), slots_.each - at);
      device::CopyBytes(spans[i].data, slots_.At(n) + at, std::min(spans[i].bytes, sent));
      at = std::min(AfterValue(at, sent), slots_.each);
    }
    Answer(n + 1);
    return Poisoned(n, header);
  }

 protected:
  bool HasArrived(uint64_t n) const { return arrived_.load(std::memory_order_acquire) > n; }
  static bool Poisoned(uint64_t n, const Header& header) {
    return header.poison != 0 || header.number != n;
  }
  // Tells the sender how many messages were taken out.
  void Answer(uint64_t taken) {
    taken_.store(taken, std::memory_order_release);
    messenger_.SendAnswer(from_, {tag_, taken}, delay_);
  }
  uint64_t answered() const { return taken_.load(std::memory_order_relaxed); }
  const Slots& slots() const { return slots_; }

 private:
  // No sender of ours sends what has no free slot.
  std::span<std::byte> BufferFor(uint32_t, uint64_t bytes) override {
    const bool free = begun_ - taken_.load(std::memory_order_acquire) < slots_.count;
    if (!free || bytes > slots_.each || bytes < sizeof(Header)) return {};
    return {slots_.At(begun_++), slots_.each};
  }
  bool OnMessage(uint32_t from, std::span<const std::byte> message) override {
    Header header;
    std::memcpy(&header, message.data(), sizeof(header));  // at least: see BufferFor()
    if (header.answer.tag != 0) messenger_.PassOn(from, header.answer);
    arrived_.store(arrived_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    event_count_->Notify();
    return true;
  }

  Slots slots_;
  Messenger& messenger_;
  const uint32_t tag_, from_;
  device::EventCount* event_count_ = nullptr;
  uint64_t begun_ = 0;  // messages that have a slot
  std::atomic<uint64_t> taken_{0};
  std::atomic<uint64_t> arrived_{0};
  ranks::AnswerDelay delay_;
};

// The end of a queue that receives.
class QueueReceiver final : public Receiver {
 public:
  QueueReceiver(Slots slots, Messenger& messenger, uint32_t tag, uint32_t from, const QueueEnd& end,
                device::SemaphoreArray copied)
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

  bool Relay() override {
    std::unique_lock lock(relaying_, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    const uint64_t copied = copied_[0].value();
    if (copied == answered()) return false;
    Answer(copied);
    return true;
  }

 private:
  // False, and nothing is issued, where the message has no bytes worth moving.
  bool IssueCopies(const QueuedMessage& message) {
    const uint64_t n = message.number;
    const Header header = slots().Read(n);
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

// The channel of a rank that has neither end.
class Elsewhere final : public Channel {
 public:
  void SetEventCounts(device::EventCount*, device::EventCount*) override {}
  bool TrySend(uint64_t, std::span<const BufferSpan>, bool) override { return false; }
  bool Sent(uint64_t) const override { return false; }
  bool Arrived(uint64_t) override { return false; }
  bool Receive(uint64_t, std::span<const BufferSpan>) override { return true; }
};

}  // namespace

Result<std::unique_ptr<Channel>> MakeMessageChannel(const ChannelShape& shape, Messenger& messenger,
                                                    uint32_t tag, uint32_t from_rank,
                                                    uint32_t to_rank,
                                                    const std::optional<QueueEnd>& queue_end) {
  const uint32_t own = messenger.rank();
  if (own != from_rank && own != to_rank) {
    return std::unique_ptr<Channel>(std::make_unique<Elsewhere>());
  }
  auto slots = MakeSlots(shape, queue_end ? queue_end->host : nullptr);
  if (!slots.ok()) return slots.status();
  const auto make =
      [&]<typename Plain, typename OfQueue>(uint32_t other) -> Result<std::unique_ptr<Channel>> {
    if (!queue_end) {
      return std::unique_ptr<Channel>(
          std::make_unique<Plain>(std::move(*slots), messenger, tag, other));
    }
    auto copied = device::SemaphoreArray::Make(*queue_end->host, 1, "an end of a channel");
    if (!copied.ok()) return copied.status();
    return std::unique_ptr<Channel>(std::make_unique<OfQueue>(
        std::move(*slots), messenger, tag, other, *queue_end, std::move(*copied)));
  };
  if (own == from_rank) return make.template operator()<Sender, QueueSender>(to_rank);
  return make.template operator()<Receiver, QueueReceiver>(from_rank);
}

}  // namespace cgraph::channel
