// Messenger: sends messages to ranks that share no memory with this one, and hands those that come
// to whoever listens for their tag. What it is asked to do is done by Poll(), which somebody has to
// call: whoever waits for anything that comes from another rank.
//
// Any thread may call it. A listener is called by the thread that polls, and must not send. What
// comes with kControlTag before anybody listens is kept; with any other tag it is dropped.
#ifndef CGRAPH_RUNTIME_CLUSTER_MESSENGER_H_
#define CGRAPH_RUNTIME_CLUSTER_MESSENGER_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/cluster/wire.h"

namespace cgraph::cluster {

class Listener {
 public:
  virtual ~Listener() = default;
  // Returns memory for a message, at least `bytes`, which stays until it has arrived. Others may
  // come before. Empty: the message is none that the listener expects, and is dropped.
  virtual std::span<std::byte> BufferFor(uint32_t from, uint64_t bytes) = 0;
  // Called when a message has arrived in its buffer; those of one rank in the order in which they
  // were sent. Returns whether somebody may wait for what it says: who polls goes on spinning then.
  virtual bool OnMessage(uint32_t from, std::span<const std::byte> message) = 0;
};

inline constexpr uint32_t kControlTag = 0;
inline constexpr uint64_t kMostPooled = 64 << 10;  // bytes of a message whose memory is kept

// ReceiveBuffers: for messages of one rank with one tag, of any size, of which several may be
// coming in.
class ReceiveBuffers {
 public:
  std::span<std::byte> New(uint64_t bytes) {
    if (free_.empty()) free_.emplace_back();
    coming_.push_back(std::move(free_.back()));
    free_.pop_back();
    coming_.back().resize(bytes);
    return coming_.back();
  }
  // Takes the message that arrived, which is the one whose buffer is the oldest.
  std::vector<std::byte> Take() {
    std::vector<std::byte> first = std::move(coming_.front());
    coming_.pop_front();
    return first;
  }
  // Gives a buffer back, so that no other has to be allocated; a large one goes.
  void Return(std::vector<std::byte> buffer) {
    if (buffer.capacity() <= kMostPooled) free_.push_back(std::move(buffer));
  }

 private:
  std::deque<std::vector<std::byte>> coming_;
  std::vector<std::vector<std::byte>> free_;
};

// Returns what a message of so many bytes takes: whole units.
constexpr uint64_t MessageBytes(uint64_t bytes) {
  return (bytes + Wire::kMessageUnit - 1) / Wire::kMessageUnit * Wire::kMessageUnit;
}

// Answer: how many messages of a channel were taken, say.
struct Answer {
  uint32_t tag = 0;  // 0: none
  uint64_t value = 0;
};

// AnswerDelay: how long the last answer of one sender waited, or would have waited, until its
// thread polled or sent. One that runs a kernel meanwhile sends answers at once: the other rank
// waits for them. Where answers are piggybacked on messages of the same thread, values go to and
// fro, the other rank more likely waits for the message, and the kernel may be longer.
class AnswerDelay {
 public:
  using Clock = std::chrono::steady_clock;

  bool IsShort() const { return last_ < (piggybacked_ ? kSoonPiggybacked : kSoon); }
  // `piggybacked`: a message to the same rank carried the answer, too, or could have.
  void Note(Clock::duration delay, bool piggybacked) {
    last_ = delay;
    piggybacked_ = piggybacked;
  }

 private:
  static constexpr std::chrono::microseconds kSoon{10}, kSoonPiggybacked{30};
  Clock::duration last_{};
  bool piggybacked_ = false;
};

// Sends: what this rank has begun to send, and the answers that wait to go. The messenger locks it.
class Sends {
 public:
  explicit Sends(Wire& wire) : wire_(wire) { sends_.reserve(kReserved); }

  // As Messenger::Send(), SendCopy(), SendAnswer() and TakeAnswer(). `polls`: whether the caller is
  // the thread that polls.
  void Send(uint32_t to, uint32_t tag, std::span<const std::byte> message, std::atomic<bool>* busy);
  void SendCopy(uint32_t to, uint32_t tag, std::span<const std::byte> first,
                std::span<const std::byte> second = {});
  void SendAnswer(uint32_t to, const Answer& answer, AnswerDelay& delay, bool polls);
  std::optional<Answer> TakeAnswer(uint32_t to);
  // Sends the answers that wait.
  void SendPostponed();

  // Goes on with what was begun; returns whether something has left that somebody waits for.
  bool Poll();
  bool empty() const { return sends_.empty(); }
  bool postpones() const { return !postponed_.empty(); }

 private:
  static constexpr size_t kReserved = 64;  // sends in progress without an allocation

  using Copy = std::unique_ptr<std::vector<std::byte>>;

  struct Sending {
    Wire::Request request;
    std::atomic<bool>* busy;
    Copy copy;  // of SendCopy(), or null
  };
  struct Postponed {
    uint32_t to;
    Answer answer;
    bool sent;  // at once, and only the delay is measured
    AnswerDelay* delay;
    AnswerDelay::Clock::time_point since;

    void NoteDelay(bool piggybacked) const {
      delay->Note(AnswerDelay::Clock::now() - since, piggybacked);
    }
  };

  bool LeavesAtOnce(Wire::Request request, uint64_t bytes);
  void KeepFree(Copy copy);

  Wire& wire_;
  std::vector<Sending> sends_;
  std::vector<Postponed> postponed_;
  std::vector<Copy> copies_;  // free
};

// Receives: who listens for which messages, and those that have begun to come. The messenger locks
// it.
class Receives {
 public:
  explicit Receives(Wire& wire) : wire_(wire) {}

  void Listen(uint32_t tag, Listener* listener);
  Listener* ListenerOf(uint32_t tag) const {
    return tag < listeners_.size() ? listeners_[tag] : nullptr;
  }
  // Returns whether a message has begun to come to whoever listens for its tag.
  bool ComesTo(uint32_t tag) const;

  // Begins to receive what has come and delivers what is there; returns whether a listener says
  // that somebody may wait for it.
  bool Poll();
  bool empty() const { return receives_.empty(); }

 private:
  struct Receiving {
    Wire::Request request;
    uint32_t from, tag;
    std::span<std::byte> buffer;
    bool arrived = false;
    // Its buffer where no listener gives it one: it is dropped, or, with kControlTag, kept in
    // `early_`.
    std::vector<std::byte> own;
  };

  void Begin(const Wire::Incoming& message);
  bool TryDeliver(size_t i, bool& any);
  bool Deliver(Receiving message);
  bool DeliverEarly();

  Wire& wire_;
  std::vector<Listener*> listeners_;  // by tag
  std::vector<Receiving> receives_;   // in the order in which they were begun
  // What came with kControlTag before anybody listened, in its order, with the rank it is from.
  std::deque<std::pair<uint32_t, std::vector<std::byte>>> early_;
};

class Messenger {
 public:
  explicit Messenger(Wire& wire) : wire_(wire), sends_(wire), receives_(wire) {}

  uint32_t rank() const { return wire_.rank(); }
  uint32_t count() const { return wire_.count(); }
  Wire& wire() { return wire_; }

  // Sets who hears of messages with a tag; null: they are dropped, and with kControlTag kept. Waits
  // for those that have begun to come to whoever heard of them before; whose answers wait, they go.
  void Listen(uint32_t tag, Listener* listener);

  // The first tag that nobody has used; tag 0 is never one.
  uint32_t unused_tag() const { return unused_tag_; }
  void UseTagsBelow(uint32_t tag) { unused_tag_ = std::max(unused_tag_, tag); }

  // Sends whole message units. `*busy` is set until the memory may be written again; not at all
  // where that is at once.
  void Send(uint32_t to, uint32_t tag, std::span<const std::byte> message, std::atomic<bool>* busy);
  // Sends a copy of a message of two parts.
  void SendCopy(uint32_t to, uint32_t tag, std::span<const std::byte> first,
                std::span<const std::byte> second = {});

  // Sends an answer: a message of its tag with its value as 8 bytes. Where the thread that calls is
  // the one that polls, and the delay of the answer before was short, it waits until
  // that thread polls next: what is sent to the rank until then goes first, or carries it, too.
  void SendAnswer(uint32_t to, const Answer& answer, AnswerDelay& delay);
  // Returns an answer that waits for a rank, to be piggybacked on a message; its listener hears of
  // it by PassOn(), which the listener of that message calls.
  std::optional<Answer> TakeAnswer(uint32_t to);
  void PassOn(uint32_t from, const Answer& answer);

  // Goes on with everything that was begun; returns whether anything has happened that somebody may
  // wait for. Returns at once where another thread is doing that.
  bool Poll();
  // Returns whether everything that was sent has left this process.
  bool AllSent();
  // Claims the other ranks for an engine, of which they serve one at a time; false: one has them.
  bool Claim() { return !claimed_.exchange(true, std::memory_order_acquire); }
  bool claimed() const { return claimed_.load(std::memory_order_relaxed); }
  void Unclaim() { claimed_.store(false, std::memory_order_release); }
  // Returns whether something has begun to be sent or received and is not over.
  bool under_way();
  // Notes that some rank answers no more: only Wire::Abort() ends the others then. Nobody waits any
  // more for what has begun; memory that it is in must be given to Keep().
  void GiveUp() { given_up_.store(true, std::memory_order_relaxed); }
  bool given_up() const { return given_up_.load(std::memory_order_relaxed); }
  // Ends all ranks, this one too, with what it has printed; does not return. Some rank answers no
  // more, which is a failure even where its results are all here: the exit code is never 0.
  [[noreturn]] void EndAll(int exit_code);
  // Keeps memory until the process ends.
  template <typename Memory>
  void Keep(Memory memory) {
    std::lock_guard lock(mutex_);
    kept_.push_back(std::make_shared<Memory>(std::move(memory)));
  }

 private:
  Wire& wire_;
  std::atomic<bool> claimed_{false}, given_up_{false};
  std::atomic<std::thread::id> poller_{};  // who polled last
  uint32_t unused_tag_ = 1;
  std::mutex mutex_;  // of all that follows
  Sends sends_;
  Receives receives_;
  std::vector<std::shared_ptr<void>> kept_;
};

}  // namespace cgraph::cluster

#endif  // CGRAPH_RUNTIME_CLUSTER_MESSENGER_H_
