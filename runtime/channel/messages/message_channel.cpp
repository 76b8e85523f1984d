#include "runtime/channel/messages/message_channel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "runtime/device/memory.h"

namespace cgraph::channel {
namespace {

using ranks::MessageBytes;
using ranks::Messenger;

using Clock = std::chrono::steady_clock;
// A receiver that asks for its next message later than this computes in between.
constexpr std::chrono::microseconds kBusy{30};

// Header: what a message begins with; its values follow, each at a multiple of 16 bytes.
struct alignas(64) Header {
  uint64_t number = 0;
  uint64_t poison = 0;
};

uint64_t AfterValue(uint64_t at, uint64_t bytes) { return (at + bytes + 15) & ~uint64_t{15}; }

// Slots: room for messages, used in turn.
struct Slots {
  device::Memory memory;
  uint64_t each = 0;
  uint32_t count = 0;

  std::byte* At(uint64_t n) const { return memory.data() + n % count * each; }
};

Result<Slots> MakeSlots(const ChannelShape& shape) {
  const char* const what = "a channel's messages";
  device::BumpLayout layout;
  layout.Add(sizeof(Header));
  layout.Add(shape.message_bytes);
  layout.Add(16ull * shape.spans);
  Slots slots;
  slots.count = std::max(1u, shape.capacity == 0 ? shape.outstanding
                                                 : std::min(shape.outstanding, shape.capacity));
  slots.each = MessageBytes(layout.size());
  if (layout.size() > UINT64_MAX / 2 / slots.count) {
    return Status(StatusCode::kInvalid, std::string("no memory for ") + what);
  }
  auto memory = device::Memory::Allocate(slots.each * slots.count, what);
  if (!memory.ok()) return memory.status();
  slots.memory = std::move(*memory);
  return slots;
}

class Sender final : public Channel, public ranks::Listener {
 public:
  Sender(Slots slots, Messenger& messenger, uint32_t tag, uint32_t to)
      : slots_(std::move(slots)),
        busy_(slots_.count),
        answers_(slots_.count),
        messenger_(messenger),
        tag_(tag),
        to_(to) {
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
    if (taken_.load(std::memory_order_acquire) + slots_.count <= n) return false;
    std::atomic<bool>& busy = busy_[n % slots_.count];
    // The message before was taken, and yet perhaps nobody has found that it has left.
    if (busy.load(std::memory_order_acquire)) return false;
    std::byte* const slot = slots_.At(n);
    const Header header{n, poison};
    std::memcpy(slot, &header, sizeof(header));
    uint64_t at = sizeof(header);
    for (size_t i = 0; i < spans.size() && !poison; ++i) {
      device::CopyBytes(slot + at, spans[i].data, spans[i].bytes);
      at = AfterValue(at, spans[i].bytes);
    }
    messenger_.Send(to_, tag_, {slot, MessageBytes(at)}, &busy);
    return true;
  }
  bool Sent(uint64_t) const override { return true; }
  bool Arrived(uint64_t) override { return false; }
  bool Receive(uint64_t, std::span<const BufferSpan>) override { return true; }

 private:
  // The receiver says how many messages it has taken. At most as many answers are under way as
  // there are slots: no message is sent before one was heard of that frees its slot.
  std::span<std::byte> BufferFor(uint32_t, uint64_t) override {
    return answers_[answers_begun_++ % answers_.size()].bytes;
  }
  void OnMessage(uint32_t, std::span<const std::byte> message) override {
    uint64_t taken = 0;
    if (message.size() < sizeof(taken)) return;
    std::memcpy(&taken, message.data(), sizeof(taken));
    taken_.store(taken, std::memory_order_release);
    event_count_->Notify();
  }

  Slots slots_;
  std::vector<std::atomic<bool>> busy_;  // by slot: it is being sent
  struct alignas(64) Answer {
    std::byte bytes[64];
  };
  std::vector<Answer> answers_;  // memory for them, used in turn
  uint64_t answers_begun_ = 0;
  Messenger& messenger_;
  const uint32_t tag_, to_;
  device::EventCount* event_count_ = nullptr;
  std::atomic<uint64_t> taken_{0};
};

class Receiver final : public Channel, public ranks::Listener {
 public:
  Receiver(Slots slots, Messenger& messenger, uint32_t tag, uint32_t from)
      : slots_(std::move(slots)),
        messenger_(messenger),
        tag_(tag),
        from_(from) {
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

  bool Arrived(uint64_t n) override {
    if (slots_.count > 1 && std::exchange(asked_, n) != n) {
      postpones_ = Clock::now() - received_ < kBusy;
    }
    return arrived_.load(std::memory_order_acquire) > n;
  }
  bool Receive(uint64_t n, std::span<const BufferSpan> spans) override {
    const std::byte* const slot = slots_.At(n);
    Header header;
    std::memcpy(&header, slot, sizeof(header));
    uint64_t at = sizeof(header);
    // The sizes are equal on both sides: the checker compares types, and extents travel before the
    // values that they measure.
    for (size_t i = 0; i < spans.size() && !header.poison; ++i) {
      const uint64_t bytes = std::min(spans[i].bytes, slots_.each - at);
      device::CopyBytes(spans[i].data, slot + at, bytes);
      at = std::min(AfterValue(at, bytes), slots_.each);
    }
    const uint64_t taken = n + 1;
    taken_.store(taken, std::memory_order_release);
    const auto answer = std::as_bytes(std::span(&taken, 1));
    if (postpones_) messenger_.SendCopySoon(from_, tag_, answer);
    else messenger_.SendCopy(from_, tag_, answer);
    if (slots_.count > 1) received_ = Clock::now();
    return header.poison != 0 || header.number != n;
  }

 private:
  // No sender of ours sends what has no free slot.
  std::span<std::byte> BufferFor(uint32_t, uint64_t bytes) override {
    const bool free = begun_ - taken_.load(std::memory_order_acquire) < slots_.count;
    if (!free || bytes > slots_.each || bytes < sizeof(Header)) return {};
    return {slots_.At(begun_++), slots_.each};
  }
  void OnMessage(uint32_t, std::span<const std::byte>) override {
    arrived_.store(arrived_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    event_count_->Notify();
  }

  Slots slots_;
  Messenger& messenger_;
  const uint32_t tag_, from_;
  device::EventCount* event_count_ = nullptr;
  uint64_t begun_ = 0;  // messages that have a slot
  std::atomic<uint64_t> taken_{0};
  std::atomic<uint64_t> arrived_{0};
  // An answer that goes at once holds up what this rank sends next. One that is postponed waits for
  // a kernel that the rank runs first, and holds up the next message. So it is postponed while the
  // receiver asks for a message soon after it took the one before; never where there is one slot,
  // for which the sender waits.
  uint64_t asked_ = UINT64_MAX;
  Clock::time_point received_;
  bool postpones_ = false;
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

Result<std::unique_ptr<Channel>> MakeMessageChannel(const ChannelShape& shape,
                                                    Messenger& messenger, uint32_t tag,
                                                    uint32_t from_rank, uint32_t to_rank) {
  const uint32_t own = messenger.rank();
  if (own != from_rank && own != to_rank) {
    return std::unique_ptr<Channel>(std::make_unique<Elsewhere>());
  }
  auto slots = MakeSlots(shape);
  if (!slots.ok()) return slots.status();
  if (own == from_rank) {
    return std::unique_ptr<Channel>(
        std::make_unique<Sender>(std::move(*slots), messenger, tag, to_rank));
  }
  return std::unique_ptr<Channel>(
      std::make_unique<Receiver>(std::move(*slots), messenger, tag, from_rank));
}

}  // namespace cgraph::channel
