// Wires within one process, for tests of what goes over a wire. A seed decides how late a message
// is seen, how late it has arrived and how late its sender hears of that. Messages from one rank to
// another with one tag keep their order; nothing else does.
//
// A wire is hard on those who use it: what is sent is read as late as may be, and compared with
// what it was when the send began; a receive writes its memory when it begins and when it is over.
#ifndef CGRAPH_TESTS_UNIT_RUNTIME_MESSAGES_WIRES_H_
#define CGRAPH_TESTS_UNIT_RUNTIME_MESSAGES_WIRES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cluster/wire.h"

namespace cgraph::testing {

// With sanitizers, which take ten times as long, a share of the seeds is tried.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr uint64_t kSanitizedShare = 5;
#else
inline constexpr uint64_t kSanitizedShare = 1;
#endif

class Network {
 public:
  Network(uint32_t ranks, uint64_t seed) : random_(seed), coming_(ranks) {
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      wires_.push_back(std::make_unique<EndOfNetwork>(*this, rank));
    }
  }

  cluster::Wire& wire(uint32_t rank) { return *wires_[rank]; }
  uint32_t count() const { return static_cast<uint32_t>(wires_.size()); }

  // Returns what was done that a wire does not allow; empty: nothing.
  std::string fault() {
    std::lock_guard lock(mutex_);
    return fault_;
  }
  // Returns how many messages with tags from `first` on, below `end`, were sent, and their bytes.
  std::pair<uint64_t, uint64_t> Sent(uint32_t first, uint32_t end) {
    std::lock_guard lock(mutex_);
    std::pair<uint64_t, uint64_t> all{0, 0};
    for (auto at = sent_.lower_bound(first); at != sent_.end() && at->first < end; ++at) {
      all.first += at->second.first;
      all.second += at->second.second;
    }
    return all;
  }
  // Returns whether nothing is under way and nobody is still to be told of anything.
  bool Quiet() {
    std::lock_guard lock(mutex_);
    for (const auto& queues : coming_) {
      for (const auto& [key, messages] : queues) {
        if (!messages.empty()) return false;
      }
    }
    return sends_.empty() && receives_.empty();
  }

 private:
  using Wire = cluster::Wire;

  struct Message {
    uint32_t from, tag;
    const std::byte* data;         // the sender's memory
    std::vector<std::byte> bytes;  // what was in it when the send began
    bool eager;                    // the sender is not waiting for the receiver
    bool received = false;
  };
  using MessagePointer = std::shared_ptr<Message>;
  struct Receive {
    MessagePointer message;
    std::byte* to;
  };

  class EndOfNetwork final : public Wire {
   public:
    EndOfNetwork(Network& network, uint32_t rank) : network_(network), rank_(rank) {}
    uint32_t rank() const override { return rank_; }
    uint32_t count() const override { return network_.count(); }
    uint32_t most_tag() const override { return 1000; }
    std::string library() const override { return "queues of a test"; }
    double share_of_cores() const override { return 1; }
    Request BeginSend(uint32_t to, uint32_t tag, const void* data, uint64_t bytes) override {
      return network_.BeginSend(rank_, to, tag, static_cast<const std::byte*>(data), bytes);
    }
    std::optional<Incoming> Probe() override { return network_.Probe(rank_); }
    Request BeginReceive(const Incoming& message, void* to) override {
      return network_.BeginReceive(message, static_cast<std::byte*>(to));
    }
    bool Over(Request request) override { return network_.Over(request); }
    void Finish() override {}
    void Abort(int) override { std::abort(); }

   private:
    Network& network_;
    const uint32_t rank_;
  };

  uint64_t BeginSend(uint32_t from, uint32_t to, uint32_t tag, const std::byte* data,
                     uint64_t bytes) {
    std::lock_guard lock(mutex_);
    if (bytes % Wire::kMessageUnit != 0) fault_ = "a message of broken units";
    if (to == from || to >= count()) fault_ = "a message to nobody";
    ++sent_[tag].first;
    sent_[tag].second += bytes;
    auto message = std::make_shared<Message>(
        Message{from, tag, data, std::vector<std::byte>(data, data + bytes), Chance(2)});
    coming_[to][{from, tag}].push_back(message);
    sends_[++last_] = std::move(message);
    return last_;
  }

  std::optional<Wire::Incoming> Probe(uint32_t rank) {
    std::lock_guard lock(mutex_);
    auto& queues = coming_[rank];
    if (queues.empty() || Chance(2)) return std::nullopt;
    auto at = std::next(queues.begin(), random_() % queues.size());
    if (at->second.empty()) return std::nullopt;
    const MessagePointer message = at->second.front();
    at->second.pop_front();
    probed_[++last_] = message;
    return Wire::Incoming{message->from, message->tag, message->bytes.size(), last_};
  }

  uint64_t BeginReceive(const Wire::Incoming& incoming, std::byte* to) {
    std::lock_guard lock(mutex_);
    const auto found = probed_.find(incoming.handle);
    if (found == probed_.end()) {
      fault_ = "a receive of no message";
      return 0;
    }
    std::memset(to, 0xa5, found->second->bytes.size());
    receives_[++last_] = {std::move(found->second), to};
    probed_.erase(found);
    return last_;
  }

  bool Over(uint64_t request) {
    std::lock_guard lock(mutex_);
    if (const auto receive = receives_.find(request); receive != receives_.end()) {
      if (!Chance(3)) return false;
      Message& message = *receive->second.message;
      CheckMemory(message);
      std::memcpy(receive->second.to, message.bytes.data(), message.bytes.size());
      message.received = true;
      receives_.erase(receive);
      return true;
    }
    const auto send = sends_.find(request);
    if (send == sends_.end()) {
      fault_ = "a request that is over is asked again";
      return true;
    }
    if (!(send->second->eager || send->second->received) || !Chance(3)) return false;
    CheckMemory(*send->second);
    send->second->data = nullptr;
    sends_.erase(send);
    return true;
  }

  // The sender leaves its memory as it was until its request is over.
  void CheckMemory(const Message& message) {
    if (message.data != nullptr && !message.bytes.empty() &&
        std::memcmp(message.data, message.bytes.data(), message.bytes.size()) != 0) {
      fault_ = "a message was changed while it was being sent";
    }
  }

  bool Chance(uint32_t one_of) { return random_() % one_of == 0; }

  std::mutex mutex_;  // of all that follows
  std::mt19937_64 random_;
  std::string fault_;
  uint64_t last_ = 0;  // request or handle
  std::map<uint32_t, std::pair<uint64_t, uint64_t>> sent_;  // by tag: messages, and their bytes
  // By receiver, then by sender and tag.
  std::vector<std::map<std::pair<uint32_t, uint32_t>, std::deque<MessagePointer>>> coming_;
  std::map<uint64_t, MessagePointer> sends_, probed_;
  std::map<uint64_t, Receive> receives_;
  std::vector<std::unique_ptr<EndOfNetwork>> wires_;
};

}  // namespace cgraph::testing

#endif  // CGRAPH_TESTS_UNIT_RUNTIME_MESSAGES_WIRES_H_
