#include "runtime/channel/messages/message_collective.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>
#include <utility>

#include "runtime/channel/local/local_collective.h"
#include "runtime/device/memory.h"
#include "runtime/kinds/collective.h"

namespace cgraph::channel {
namespace {

using ranks::MessageBytes;
using ranks::Messenger;

class MessageCollective final : public Collective {
 public:
  static Result<std::unique_ptr<MessageCollective>> Make(CollectiveShape shape,
                                                         Messenger& messenger, uint32_t first_tag,
                                                         std::vector<uint32_t> ranks,
                                                         device::SharedHeap& heap) {
    shape.apart = true;
    auto local = LocalCollective::Make(shape, heap);
    if (!local.ok()) return local.status();
    std::unique_ptr<MessageCollective> made(
        new MessageCollective(std::move(*local), shape, messenger));
    const std::set<uint32_t> all(ranks.begin(), ranks.end());
    for (uint32_t member = 0; member < shape.members; ++member) {
      const bool here = ranks[member] == messenger.rank();
      // Who is here sends what others receive: both need room.
      auto port = std::make_unique<Port>(*made, member, first_tag + member);
      auto memory = device::Memory::Allocate(2 * made->message_bytes_, "a collective's messages");
      if (!memory.ok()) return memory.status();
      port->memory = std::move(*memory);
      if (here) {
        for (uint32_t rank : all) {
          if (rank != messenger.rank()) port->to.push_back(rank);
        }
        port->busy = std::vector<std::atomic<bool>>(2 * port->to.size());
      } else {
        messenger.Listen(port->tag, port.get());
      }
      made->ports_.push_back(std::move(port));
    }
    return made;
  }
  ~MessageCollective() override {
    for (auto& port : ports_) {
      messenger_.Listen(port->tag, nullptr);
      if (!messenger_.given_up()) continue;
      messenger_.Keep(std::move(port->memory));
      messenger_.Keep(std::move(port->busy));
    }
  }

  void SetEventCount(uint32_t member, device::EventCount* event_count) override {
    local_->SetEventCount(member, event_count);
  }
  void Arrive(uint32_t member, uint64_t n, std::span<const BufferSpan> inputs,
              std::span<const BufferSpan> outputs, bool poison) override {
    SendToOthers(*ports_[member], n, inputs, poison);
    local_->Arrive(member, n, inputs, outputs, poison);
  }
  bool Present(uint32_t other, uint32_t member) const override {
    return local_->Present(other, member);
  }
  bool AllArrived(uint64_t n) const override { return local_->AllArrived(n); }
  bool Reduce(uint32_t member, uint64_t n) override { return local_->Reduce(member, n); }
  // Room for a message is used again two rounds later; by then it has left.
  bool Left(uint64_t n) const override {
    for (const auto& port : ports_) {
      for (size_t i = 0; i < port->to.size(); ++i) {
        if (port->busy[port->to.size() * (n & 1) + i].load(std::memory_order_acquire)) return false;
      }
    }
    return true;
  }

 private:
  // Header: what a message begins with. Then comes the size of each input as 8 bytes, then the
  // inputs; sizes and inputs are at multiples of 64 bytes.
  struct alignas(64) Header {
    uint64_t round = 0;
    uint64_t poison = 0;
    uint64_t inputs = 0;
  };

  // Port: where a member's messages go out, or come in.
  struct Port final : public ranks::Listener {
    Port(MessageCollective& collective, uint32_t member, uint32_t tag)
        : collective(collective), member(member), tag(tag) {}

    std::byte* BufferOf(uint64_t n) const {
      return memory.data() + (n & 1) * collective.message_bytes_;
    }
    std::span<std::byte> BufferFor(uint32_t, uint64_t) override {
      return {BufferOf(begun++), collective.message_bytes_};
    }
    void OnMessage(uint32_t, std::span<const std::byte> message) override {
      collective.ArriveFrom(member, message);
    }

    MessageCollective& collective;
    const uint32_t member, tag;
    device::Memory memory;                // for the messages of two rounds
    uint64_t begun = 0;                   // messages that came in
    std::vector<uint32_t> to;             // ranks, of a member that is here
    std::vector<std::atomic<bool>> busy;  // by round and rank: a message that has not left yet
  };

  MessageCollective(std::unique_ptr<LocalCollective> local, const CollectiveShape& shape,
                    Messenger& messenger)
      : local_(std::move(local)), messenger_(messenger) {
    uint64_t bytes = sizeof(Header) + MessageBytes(shape.tensors.size() * sizeof(uint64_t));
    for (const CollectiveShape::Tensor& tensor : shape.tensors) bytes += MessageBytes(tensor.bytes);
    message_bytes_ = bytes;
    most_inputs_ = shape.tensors.size();
  }

  void SendToOthers(Port& port, uint64_t n, std::span<const BufferSpan> inputs, bool poison) {
    if (port.to.empty()) return;
    std::byte* const message = port.BufferOf(n);
    const Header header{n, poison, inputs.size()};
    std::memcpy(message, &header, sizeof(header));
    uint64_t at = sizeof(header) + MessageBytes(inputs.size() * sizeof(uint64_t));
    for (size_t i = 0; i < inputs.size(); ++i) {
      const uint64_t bytes = std::min(inputs[i].bytes, message_bytes_ - at);
      std::memcpy(message + sizeof(header) + i * sizeof(bytes), &bytes, sizeof(bytes));
      if (poison) continue;
      device::CopyBytes(message + at, inputs[i].data, bytes);
      at += MessageBytes(bytes);
    }
    for (size_t i = 0; i < port.to.size(); ++i) {
      messenger_.Send(port.to[i], port.tag, {message, at},
                      &port.busy[port.to.size() * (n & 1) + i]);
    }
  }

  // A member at another rank has arrived.
  void ArriveFrom(uint32_t member, std::span<const std::byte> message) {
    Header header;
    if (message.size() < sizeof(header)) return;
    std::memcpy(&header, message.data(), sizeof(header));
    const size_t inputs = std::min<size_t>(header.inputs, most_inputs_);
    uint64_t at = sizeof(header) + MessageBytes(inputs * sizeof(uint64_t));
    if (at > message.size()) return;
    std::vector<BufferSpan>& spans = spans_;
    spans.clear();
    for (size_t i = 0; i < inputs; ++i) {
      uint64_t bytes = 0;
      std::memcpy(&bytes, message.data() + sizeof(header) + i * sizeof(bytes), sizeof(bytes));
      bytes = header.poison ? 0 : std::min<uint64_t>(bytes, message.size() - at);
      spans.push_back({const_cast<std::byte*>(message.data() + at), bytes});
      at = std::min<uint64_t>(at + MessageBytes(bytes), message.size());
    }
    local_->Arrive(member, header.round, spans, {}, header.poison != 0);
  }

  const std::unique_ptr<LocalCollective> local_;
  Messenger& messenger_;
  uint64_t message_bytes_ = 0;
  size_t most_inputs_ = 0;
  std::vector<std::unique_ptr<Port>> ports_;  // by member
  std::vector<BufferSpan> spans_;             // of whoever polls
};

// The collective of a rank that has no member.
class CollectiveElsewhere final : public Collective {
 public:
  void SetEventCount(uint32_t, device::EventCount*) override {}
  void Arrive(uint32_t, uint64_t, std::span<const BufferSpan>, std::span<const BufferSpan>,
              bool) override {}
  bool Present(uint32_t, uint32_t) const override { return true; }
  bool AllArrived(uint64_t) const override { return false; }
  bool Reduce(uint32_t, uint64_t) override { return true; }
  bool Left(uint64_t) const override { return false; }
};

}  // namespace

Result<std::unique_ptr<Collective>> MakeMessageCollective(const CollectiveShape& shape,
                                                          Messenger& messenger,
                                                          uint32_t first_tag,
                                                          std::vector<uint32_t> ranks,
                                                          device::SharedHeap& heap) {
  if (std::find(ranks.begin(), ranks.end(), messenger.rank()) == ranks.end()) {
    return std::unique_ptr<Collective>(std::make_unique<CollectiveElsewhere>());
  }
  auto made = MessageCollective::Make(shape, messenger, first_tag, std::move(ranks), heap);
  if (!made.ok()) return made.status();
  return std::unique_ptr<Collective>(std::move(*made));
}

}  // namespace cgraph::channel
