// Channels between ranks that share no memory, whose ends are on queues or are the host's: queues
// of the deferred device, which run late, and wires that are late with everything.
#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <vector>

#include "runtime/cluster/messenger.h"
#include "runtime/device/semaphore_array.h"
#include "runtime/transport/mpi/mpi_transport.h"
#include "tests/support/deferred/queue_of_device.h"
#include "tests/unit/runtime/messages/wires.h"

namespace cgraph::testing::queued {
namespace {

using transport::BufferSpan;
using transport::Channel;
using transport::ChannelShape;
using transport::Pass;
using transport::QueuedMessage;
using Value = std::vector<std::byte>;

constexpr Pass kPasses[] = {Pass::kShow, Pass::kMove, Pass::kEnd};

// Frame: the poison flags of one message at one end.
struct Frame {
  enum Flag : uint32_t { kSet, kValue };
  std::atomic<uint8_t> flags[2] = {1, 0};
  std::atomic<bool> poisoned{true};
  device::Bindings bindings{nullptr, nullptr, flags, &poisoned};
  std::vector<Value> values;
  std::vector<device::Tensor> tensors, other;  // of the values, and of what is written over them
  Value scribble;
};
constexpr uint32_t kSetFlag[] = {Frame::kSet}, kValueFlag[] = {Frame::kValue};

device::Tensor TensorOf(Value& value) {
  device::Tensor tensor;
  tensor.dtype = plan::DType::u8;
  tensor.data = value.data();
  tensor.rank = 1;
  tensor.dims[0] = static_cast<int64_t>(value.size());
  return tensor;
}
std::vector<BufferSpan> SpansOf(std::vector<Value>& values) {
  std::vector<BufferSpan> spans;
  for (Value& value : values) spans.push_back({value.data(), value.size()});
  return spans;
}

// Machine: a rank with one queue.
struct Machine : QueueOfDevice {
  std::unique_ptr<cluster::Messenger> messenger;
  std::vector<Channel*> relays;

  Machine(cluster::Wire& wire, uint64_t seed)
      : QueueOfDevice(seed), messenger(std::make_unique<cluster::Messenger>(wire)) {}
  void Poll(uint64_t what) {
    if (what % 3 == 0) messenger->Poll();
    if (what % 3 == 1) queue->Poll(reports);
    for (Channel* relay : relays) {
      if (what % 3 == 2) relay->Relay();
    }
    REQUIRE(reports.empty());
  }
};

// Transfer: a channel, with what is to go through it.
struct Transfer {
  struct Message {
    std::vector<Value> values;      // as they are sent
    std::vector<uint64_t> received;  // how many bytes the receiver has room for
    bool poison = false, empty = false;
  };
  ChannelShape shape;
  Machine &from, &to;
  const bool queued_send, queued_receive;
  std::unique_ptr<Channel> sender, receiver;
  device::SemaphoreArray done;
  std::vector<Message> messages;
  std::vector<std::unique_ptr<Frame>> sent_frames, received_frames;
  uint64_t sent = 0, received = 0, checked = 0;

  Transfer(Machine& a, Machine& b, uint32_t tag, std::mt19937_64& random)
      : from(a), to(b), queued_send(random() % 3 != 0),
        queued_receive(!queued_send || random() % 2 == 0) {
    shape.capacity = static_cast<uint32_t>(random() % 5);
    shape.outstanding = static_cast<uint32_t>(1 + random() % 4);
    shape.spans = static_cast<uint32_t>(1 + random() % 9);
    shape.value_bytes = random() % 8 == 0 ? 5000 : random() % 120;
    shape.message_bytes = shape.spans * shape.value_bytes;
    for (uint64_t n = 20 + random() % 20; n > 0; --n) messages.push_back(NewMessage(random));
    sender = MakeEnd(from, tag, queued_send);
    receiver = MakeEnd(to, tag, queued_receive);
    done = std::move(*device::SemaphoreArray::Make(*to.host, 1, "a test"));
  }
  bool over() const { return checked == messages.size(); }

  std::unique_ptr<Channel> MakeEnd(Machine& at, uint32_t tag, bool queued) {
    std::optional<transport::QueueEnd> end;
    if (queued) end = {at.host.get(), at.device.get(), &at.event_count};
    auto made = transport::MakeMessageChannel(shape, *at.messenger, tag, from.messenger->rank(),
                                            to.messenger->rank(), end);
    REQUIRE(made.ok());
    (*made)->SetEventCounts(&at.event_count, &at.event_count);
    if (queued) at.relays.push_back(made->get());
    return std::move(*made);
  }

  // Extents that a kernel makes are those of the bound on a queue alone.
  Message NewMessage(std::mt19937_64& random) const {
    Message message;
    message.empty = random() % 8 == 0;
    message.poison = random() % 6 == 0;
    for (uint64_t values = 1 + random() % shape.spans; values > 0; --values) {
      uint64_t sends = random() % (shape.value_bytes + 1), receives = sends;
      if (queued_send && !queued_receive) receives = random() % (sends + 1);
      if (!queued_send && queued_receive) receives += random() % (shape.value_bytes - sends + 1);
      Value value(sends);
      for (std::byte& byte : value) byte = static_cast<std::byte>(random());
      message.values.push_back(std::move(value));
      message.received.push_back(receives);
    }
    return message;
  }

  bool TrySend() {
    if (sent == messages.size()) return false;
    const Message& message = messages[sent];
    auto frame = std::make_unique<Frame>();
    frame->values = message.values;
    if (!queued_send) {
      const bool poison = message.poison || message.empty;
      if (!sender->TrySend(sent, SpansOf(frame->values), poison)) return false;
    } else {
      if (!sender->ReadyToSend(sent)) return false;
      IssueSend(message, *frame);
    }
    sent_frames.push_back(std::move(frame));
    ++sent;
    const uint32_t slots = shape.capacity == 0 ? shape.outstanding
                                               : std::min(shape.outstanding, shape.capacity);
    REQUIRE(sent - received <= slots);
    return true;
  }

  // The values are poisoned by what the queue does before it copies them, and written over behind.
  void IssueSend(const Message& message, Frame& frame) {
    device::Queue& queue = *from.queue;
    frame.scribble.assign(shape.value_bytes, std::byte{0xee});
    frame.tensors.reserve(frame.values.size());
    for (Value& value : frame.values) frame.tensors.push_back(TensorOf(value));
    frame.other.push_back(TensorOf(frame.scribble));
    if (message.poison) {
      queue.Copy({{&frame.bindings, {kSetFlag, Frame::kValue}, {}, {}}, frame.tensors.data(),
                  frame.other.data()});
    }
    const device::Operation send{&frame.bindings, {{}, device::kNoFlag}, {}, {}};
    for (Pass pass : kPasses) {
      sender->IssueSend(pass, {&queue, sent, &send, frame.tensors.data(), nullptr,
                               static_cast<uint32_t>(frame.tensors.size()), message.empty,
                               kValueFlag});
    }
    for (device::Tensor& tensor : frame.tensors) {
      queue.Copy({{&frame.bindings, {{}, device::kNoFlag}, {}, {}}, frame.other.data(), &tensor,
                  false, true, true});
    }
  }

  bool TryReceive() {
    if (received == messages.size()) return false;
    const bool there =
        queued_receive ? receiver->ReadyToReceive(received) : receiver->Arrived(received);
    if (!there) return false;
    REQUIRE(received < sent);
    const Message& message = messages[received];
    auto frame = std::make_unique<Frame>();
    for (const uint64_t bytes : message.received) {
      frame->values.emplace_back(bytes, std::byte{0x11});
    }
    if (queued_receive) {
      IssueReceive(message, *frame);
    } else {
      frame->flags[Frame::kValue] = receiver->Receive(received, SpansOf(frame->values));
      done[0].Signal(received + 1);
    }
    received_frames.push_back(std::move(frame));
    ++received;
    return true;
  }

  void IssueReceive(const Message& message, Frame& frame) {
    for (Value& value : frame.values) frame.tensors.push_back(TensorOf(value));
    const device::Operation receive{&frame.bindings, {{}, Frame::kValue}, {}, {}};
    for (Pass pass : kPasses) {
      receiver->IssueReceive(pass, {to.queue.get(), received, &receive, nullptr,
                                    frame.tensors.data(),
                                    static_cast<uint32_t>(frame.tensors.size()), message.empty});
    }
    to.queue->Signal(&done[0], received + 1);
  }

  // Checks what has been received, as soon as it must be there.
  void Check() {
    for (; checked < received && done[0].Reached(checked + 1); ++checked) {
      const Message& message = messages[checked];
      Frame& frame = *received_frames[checked];
      const bool moves = !message.empty && !message.poison;
      // In an empty execution all flags are set before.
      if (!message.empty) REQUIRE((frame.flags[Frame::kValue] != 0) == message.poison);
      for (size_t i = 0; i < message.values.size(); ++i) {
        const Value& got = frame.values[i];
        const Value& given = message.values[i];
        const size_t common = moves ? std::min(got.size(), given.size()) : 0;
        REQUIRE(std::equal(got.begin(), got.begin() + static_cast<long>(common), given.begin()));
        if (moves) continue;
        REQUIRE(std::count(got.begin(), got.end(), std::byte{0x11}) == long(got.size()));
      }
    }
  }
};

TEST_CASE("messages go from queue to queue, and between queues and threads, on several machines") {
  uint64_t full = 0, queued = 0;
  for (uint64_t seed = 1; seed <= 1000 / kSanitizedShare; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    Network network(2 + seed % 2, seed);
    std::vector<std::unique_ptr<Machine>> machines;
    for (uint32_t rank = 0; rank < network.count(); ++rank) {
      machines.push_back(std::make_unique<Machine>(network.wire(rank), 3 * seed + rank));
    }
    std::vector<std::unique_ptr<Transfer>> transfers;
    for (uint32_t i = 0; i < 1 + seed % 3; ++i) {
      const uint64_t from = random() % machines.size();
      const uint64_t to = (from + 1 + random() % (machines.size() - 1)) % machines.size();
      transfers.push_back(
          std::make_unique<Transfer>(*machines[from], *machines[to], 1 + i, random));
      queued += transfers.back()->queued_send && transfers.back()->queued_receive;
    }
    uint64_t steps = 0;
    const auto over = [](const auto& transfer) { return transfer->over(); };
    while (!std::all_of(transfers.begin(), transfers.end(), over)) {
      REQUIRE(++steps < 1'000'000);
      machines[random() % machines.size()]->Poll(random());
      Transfer& transfer = *transfers[random() % transfers.size()];
      switch (random() % 3) {
        case 0: full += !transfer.TrySend(); break;
        case 1: transfer.TryReceive(); break;
        default: transfer.Check();
      }
    }
    bool settled = false;
    for (int i = 0; i < 100000 && !settled; ++i) {
      settled = true;
      for (auto& machine : machines) {
        for (uint64_t what : {0, 1, 2}) machine->Poll(what);
        settled &= machine->messenger->AllSent();
      }
      settled &= network.Quiet();
    }
    REQUIRE(settled);
    REQUIRE(network.fault() == "");
  }
  REQUIRE(full > 0);  // there were channels without room
  REQUIRE(queued > 300 / kSanitizedShare);
}

}  // namespace
}  // namespace cgraph::testing::queued
