#include "tests/simulation/network.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include <fmt/format.h>

#include "runtime/cluster/message.h"

namespace cgraph::simulation {
namespace {

struct Aborted {};  // a rank has ended all

}  // namespace

// One rank's end of the wires. Every call is a point of the scheduler.
class Network::End final : public cluster::Wire {
 public:
  End(Network& network, uint32_t rank) : network_(network), rank_(rank) {}
  uint32_t rank() const override { return rank_; }
  uint32_t count() const override { return static_cast<uint32_t>(network_.ranks_.size()); }
  uint32_t most_tag() const override { return 10000; }
  std::string library() const override { return "a simulation"; }
  double share_of_cores() const override { return 1; }
  Request BeginSend(uint32_t to, uint32_t tag, const void* data, uint64_t bytes) override {
    const Inside inside(*this, "sends a message");
    return network_.BeginSend(rank_, to, tag, static_cast<const std::byte*>(data), bytes);
  }
  std::optional<Incoming> Probe() override {
    const Inside inside(*this, "looks for messages");
    return network_.Probe(rank_);
  }
  Request BeginReceive(const Incoming& message, void* to) override {
    const Inside inside(*this, "receives a message");
    return network_.BeginReceive(message, static_cast<std::byte*>(to));
  }
  bool Over(Request request) override {
    const Inside inside(*this, "asks about a message");
    return network_.Over(rank_, request);
  }
  void Finish() override { network_.Finish(rank_); }
  void Abort(int) override {
    network_.aborted_ = true;
    throw Aborted();  // the function does not return
  }

 private:
  // Sees that one thread at a time is in the wire.
  class Inside {
   public:
    Inside(End& end, const char* what) : end_(end) {
      if (std::exchange(end.Own().inside, true)) {
        end_.network_.fault_ = "two threads are inside a wire at once";
      }
      end_.network_.scheduler_.Point(what);
    }
    ~Inside() { end_.Own().inside = false; }

   private:
    End& end_;
  };
  Rank& Own() { return network_.ranks_[rank_]; }

  Network& network_;
  const uint32_t rank_;
};

// The supervision of rank 0: called by a thread of that rank, as the real one.
class Network::Told final : public cluster::Supervision {
 public:
  explicit Told(Network& network) : network_(network) { network_.told_ = this; }
  ~Told() override { network_.told_ = nullptr; }

  void SayEnds() override {}  // virtual ranks say nothing to people
  void OnLost(std::function<void(const Lost&)> lost) override {
    std::lock_guard call(call_mutex_);
    lost_ = std::move(lost);
    if (found_ && lost_) lost_(*found_);
  }
  cluster::Process ProcessOf(uint32_t rank) const override {
    return {static_cast<int>(1000 + rank), fmt::format("machine{}", rank)};
  }
  std::optional<Lost> FirstLost() const override { return found_; }
  std::vector<uint32_t> Unconnected() const override { return {}; }

  void Tell(uint32_t rank) {
    std::lock_guard call(call_mutex_);
    const Lost lost{rank, ProcessOf(rank), "has ended"};
    if (!found_) found_ = lost;
    if (lost_) lost_(lost);
  }

 private:
  Network& network_;
  std::mutex call_mutex_;
  std::function<void(const Lost&)> lost_;
  std::optional<Lost> found_;
};

Network::Network(Scheduler& scheduler, uint32_t ranks, WireFault wire_fault)
    : scheduler_(scheduler), wire_fault_(wire_fault), ranks_(ranks) {
  for (uint32_t rank = 0; rank < ranks; ++rank) ends_.push_back(std::make_unique<End>(*this, rank));
}

Network::~Network() = default;

cluster::Wire& Network::wire(uint32_t rank) { return *ends_[rank]; }

std::unique_ptr<cluster::Supervision> Network::Supervise() { return std::make_unique<Told>(*this); }

// Mostly little, now and then much: while ranks wait, they look for messages, which takes points.
int64_t Network::Delay() {
  constexpr int64_t kMost[] = {500, 500, 500, 500, 5'000, 5'000, 20'000, 20'000};
  if (scheduler_.Chance(64)) return static_cast<int64_t>(scheduler_.Random(2'000'000));
  return static_cast<int64_t>(scheduler_.Random(kMost[scheduler_.Random(std::size(kMost))]));
}

uint64_t Network::BeginSend(uint32_t from, uint32_t to, uint32_t tag, const std::byte* data,
                            uint64_t bytes) {
  if (bytes % Wire::kMessageUnit != 0) fault_ = "a message of broken units";
  if (to == from || to >= ranks_.size()) fault_ = "a message to nobody";
  auto message = std::make_shared<Message>();
  message->from = from;
  message->tag = tag;
  message->data = data;
  message->bytes.assign(data, data + bytes);
  message->eager = scheduler_.Chance(2);
  message->seen_ns = scheduler_.now_ns() + Delay();
  message->sent_ns = scheduler_.now_ns() + Delay();
  sends_[++last_] = message;
  if (ranks_[from].isolated) return last_;
  auto& queue = ranks_[to].coming[{from, tag}];
  queue.push_back(message);
  const bool fails = tag != cluster::kControlTag && sent_++ == fails_at_;
  if (fails && wire_fault_ == WireFault::kTwice) queue.push_back(message);
  if (fails && wire_fault_ == WireFault::kLost) {
    queue.pop_back();
    message->eager = true;
  }
  message->unfilled = fails && wire_fault_ == WireFault::kEarly;
  return last_;
}

std::optional<cluster::Wire::Incoming> Network::Probe(uint32_t rank) {
  Rank& own = ranks_[rank];
  MessagePointer message;
  if (own.isolated) {
    if (scheduler_.now_ns() < own.next_farewell_ns) return std::nullopt;
    own.next_farewell_ns = scheduler_.now_ns() + 1'000'000;
    message = Farewell(std::exchange(own.bidden, true));
  } else {
    std::vector<std::deque<MessagePointer>*> queues;
    for (auto& [key, queue] : own.coming) {
      if (!queue.empty() && queue.front()->seen_ns <= scheduler_.now_ns()) queues.push_back(&queue);
    }
    if (queues.empty()) return std::nullopt;
    auto& queue = *queues[scheduler_.Random(queues.size())];
    message = queue.front();
    queue.pop_front();
  }
  probed_[++last_] = message;
  return Wire::Incoming{message->from, message->tag, message->bytes.size(), last_};
}

uint64_t Network::BeginReceive(const Wire::Incoming& incoming, std::byte* to) {
  const auto found = probed_.find(incoming.handle);
  if (found == probed_.end()) {
    fault_ = "a receive of no message";
    return 0;
  }
  std::memset(to, 0xa5, found->second->bytes.size());
  receives_[++last_] = {std::move(found->second), to, scheduler_.now_ns() + Delay()};
  probed_.erase(found);
  return last_;
}

bool Network::Over(uint32_t rank, uint64_t request) {
  const bool alone = ranks_[rank].isolated;
  if (const auto at = receives_.find(request); at != receives_.end()) {
    Receive& receive = at->second;
    if (scheduler_.now_ns() < receive.over_ns && !alone) return false;
    Message& message = *receive.message;
    if (!alone) CheckMemory(message);
    if (!message.unfilled) {
      std::memcpy(receive.to, message.bytes.data(), message.bytes.size());
    }
    message.received = true;
    receives_.erase(at);
    return true;
  }
  const auto send = sends_.find(request);
  if (send == sends_.end()) {
    fault_ = "a request that is over is asked again";
    return true;
  }
  Message& message = *send->second;
  const bool left = (message.eager || message.received) && scheduler_.now_ns() >= message.sent_ns;
  if (!left && !alone) return false;
  if (!alone) CheckMemory(message);
  message.data = nullptr;
  sends_.erase(send);
  return true;
}

// The sender leaves its memory as it was until its request is over.
void Network::CheckMemory(const Message& message) {
  if (message.data != nullptr && !ranks_[message.from].cut &&
      std::memcmp(message.data, message.bytes.data(), message.bytes.size()) != 0) {
    fault_ = "a message was changed while it was being sent";
  }
}

void Network::Finish(uint32_t rank) {
  ranks_[rank].finishes = true;
  const auto all = [&] {
    return aborted_ || ranks_[rank].isolated ||
           std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& at) { return at.finishes; });
  };
  while (!all()) scheduler_.Wait("waits for all ranks", nullptr, scheduler_.now_ns() + 100'000);
}

void Network::Cut(uint32_t rank) {
  ranks_[rank].cut = true;
  for (Rank& to : ranks_) {
    for (auto& [key, queue] : to.coming) {
      if (key.first == rank) queue.resize(scheduler_.Random(queue.size() + 1));
    }
  }
  const int64_t when = scheduler_.now_ns() + Delay();
  scheduler_.Spawn(0, "rank 0 supervision", [this, rank, when] {
    scheduler_.Wait("does not know of the death yet", nullptr, when);
    told_ns_ = scheduler_.now_ns();
    try {
      if (told_ != nullptr) told_->Tell(rank);
    } catch (const Aborted&) {
    }
  });
}

void Network::Isolate(uint32_t rank) {
  ranks_[rank].isolated = true;
  ranks_[rank].coming.clear();
}

// What an isolated rank hears, as from rank 0: that the engine has ended; then, from time to time,
// since it heeds that only when it has none any more, that the process is to end.
Network::MessagePointer Network::Farewell(bool quit) {
  cluster::MachineMessage text{.kind = quit ? cluster::MachineMessage::kQuit
                                           : cluster::MachineMessage::kEnd};
  auto message = std::make_shared<Message>();
  message->tag = cluster::kControlTag;
  message->bytes.resize(cluster::MessageBytes(sizeof(text)));
  std::memcpy(message->bytes.data(), &text, sizeof(text));
  return message;
}

}  // namespace cgraph::simulation
