#include "runtime/cluster/messenger.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

namespace cgraph::cluster {

void Messenger::Listen(uint32_t tag, Listener* listener) {
  std::lock_guard lock(mutex_);
  while (receives_.ComesTo(tag) && !given_up()) receives_.Poll();
  if (listener == nullptr) sends_.SendPostponed();  // with a delay that is going, too
  receives_.Listen(tag, listener);
}

void Messenger::Send(uint32_t to, uint32_t tag, std::span<const std::byte> message,
                     std::atomic<bool>* busy) {
  std::lock_guard lock(mutex_);
  sends_.Send(to, tag, message, busy);
}

void Messenger::SendCopy(uint32_t to, uint32_t tag, std::span<const std::byte> first,
                         std::span<const std::byte> second) {
  std::lock_guard lock(mutex_);
  sends_.SendPostponed();  // messages with one tag keep their order
  sends_.SendCopy(to, tag, first, second);
}

void Messenger::SendAnswer(uint32_t to, const Answer& answer, AnswerDelay& delay) {
  const bool polls = poller_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  std::lock_guard lock(mutex_);
  sends_.SendAnswer(to, answer, delay, polls);
}

std::optional<Answer> Messenger::TakeAnswer(uint32_t to) {
  std::lock_guard lock(mutex_);
  return sends_.TakeAnswer(to);
}

void Messenger::PassOn(uint32_t from, const Answer& answer) {
  Listener* const listener = receives_.ListenerOf(answer.tag);
  if (listener != nullptr) {
    listener->OnMessage(from, std::as_bytes(std::span(&answer.value, 1)));
  }
}

bool Messenger::Poll() {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  poller_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  sends_.SendPostponed();
  const bool sent = sends_.Poll();
  return receives_.Poll() || sent;
}

bool Messenger::AllSent() {
  std::lock_guard lock(mutex_);
  sends_.SendPostponed();
  sends_.Poll();
  return sends_.empty();
}

bool Messenger::under_way() {
  std::lock_guard lock(mutex_);
  return !sends_.empty() || sends_.postpones() || !receives_.empty();
}

void Messenger::EndAll(int exit_code) {
  std::fflush(nullptr);
  // What was printed goes through the launcher, which may drop what it has not passed on by then.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  wire_.Abort(exit_code == 0 ? EXIT_FAILURE : exit_code);
  std::abort();
}

// ---- what is sent -------------------------------------------------------------------------------

void Sends::Send(uint32_t to, uint32_t tag, std::span<const std::byte> message,
                 std::atomic<bool>* busy) {
  const Wire::Request request = wire_.BeginSend(to, tag, message.data(), message.size());
  if (LeavesAtOnce(request, message.size())) return;
  busy->store(true, std::memory_order_relaxed);
  sends_.push_back({request, busy, nullptr});
}

void Sends::SendCopy(uint32_t to, uint32_t tag, std::span<const std::byte> first,
                     std::span<const std::byte> second) {
  if (copies_.empty()) copies_.push_back(std::make_unique<std::vector<std::byte>>());
  Copy copy = std::move(copies_.back());
  copies_.pop_back();
  copy->resize(MessageBytes(first.size() + second.size()));
  std::copy(second.begin(), second.end(), std::copy(first.begin(), first.end(), copy->begin()));
  const Wire::Request request = wire_.BeginSend(to, tag, copy->data(), copy->size());
  if (LeavesAtOnce(request, copy->size())) return KeepFree(std::move(copy));
  sends_.push_back({request, nullptr, std::move(copy)});
}

void Sends::SendAnswer(uint32_t to, const Answer& answer, AnswerDelay& delay, bool polls) {
  const bool sent = !polls || !delay.IsShort();
  if (sent) {
    SendPostponed();  // messages with one tag keep their order
    SendCopy(to, answer.tag, std::as_bytes(std::span(&answer.value, 1)));
  }
  if (polls) postponed_.push_back({to, answer, sent, &delay, AnswerDelay::Clock::now()});
}

std::optional<Answer> Sends::TakeAnswer(uint32_t to) {
  std::optional<Answer> taken;
  std::erase_if(postponed_, [&](const Postponed& answer) {
    if (answer.to != to || taken) return false;
    answer.NoteDelay(/*piggybacked=*/true);
    if (!answer.sent) taken = answer.answer;
    return true;
  });
  return taken;
}

void Sends::SendPostponed() {
  for (const Postponed& each : postponed_) {
    each.NoteDelay(/*piggybacked=*/false);
    if (each.sent) continue;
    SendCopy(each.to, each.answer.tag, std::as_bytes(std::span(&each.answer.value, 1)));
  }
  postponed_.clear();
}

// Returns whether a message that was begun has left already, as small ones mostly have. Of others
// it does not ask: the wire would go on with all that is under way, which is for Poll() to do.
bool Sends::LeavesAtOnce(Wire::Request request, uint64_t bytes) {
  constexpr uint64_t kSmall = 8 << 10;
  return bytes <= kSmall && wire_.Over(request);
}

void Sends::KeepFree(Copy copy) {
  if (copy->capacity() <= kMostPooled) copies_.push_back(std::move(copy));
}

bool Sends::Poll() {
  bool any = false;
  for (size_t i = 0; i < sends_.size();) {
    if (!wire_.Over(sends_[i].request)) {
      ++i;
      continue;
    }
    if (sends_[i].busy != nullptr) {  // else it is a copy, which nobody waits for
      sends_[i].busy->store(false, std::memory_order_release);
      any = true;
    }
    if (Copy& copy = sends_[i].copy; copy != nullptr) KeepFree(std::move(copy));
    if (i + 1 < sends_.size()) sends_[i] = std::move(sends_.back());
    sends_.pop_back();
  }
  return any;
}

// ---- what is received ---------------------------------------------------------------------------

void Receives::Listen(uint32_t tag, Listener* listener) {
  if (tag >= listeners_.size()) listeners_.resize(tag + 1, nullptr);
  listeners_[tag] = listener;
  if (tag == kControlTag) DeliverEarly();
}

bool Receives::ComesTo(uint32_t tag) const {
  return ListenerOf(tag) != nullptr &&
         std::any_of(receives_.begin(), receives_.end(), [&](const Receiving& at) {
           return at.tag == tag && at.own.empty();
         });
}

// Delivers what has come before it asks for more: where nothing more has come, to ask is a call of
// the system, which would hold up the message that somebody waits for.
bool Receives::Poll() {
  constexpr int kMost = 16;  // at a time, so that whoever polls can do something else as well
  bool any = false;
  for (size_t i = 0; i < receives_.size();) {
    if (!TryDeliver(i, any)) ++i;
  }
  for (int i = 0; i < kMost && !any; ++i) {
    const std::optional<Wire::Incoming> message = wire_.Probe();
    if (!message) break;
    Begin(*message);
    TryDeliver(receives_.size() - 1, any);
  }
  return any;
}

// Returns false where the message has to wait: until it is there, and for those that its rank sent
// before with the same tag.
bool Receives::TryDeliver(size_t i, bool& any) {
  Receiving& at = receives_[i];
  if (!at.arrived) at.arrived = wire_.Over(at.request);
  const bool behind = std::any_of(
      receives_.begin(), receives_.begin() + static_cast<ptrdiff_t>(i),
      [&](const Receiving& earlier) { return earlier.from == at.from && earlier.tag == at.tag; });
  if (!at.arrived || behind) return false;
  Receiving message = std::move(at);
  receives_.erase(receives_.begin() + static_cast<ptrdiff_t>(i));
  any |= Deliver(std::move(message));
  return true;
}

bool Receives::Deliver(Receiving message) {
  Listener* listener = ListenerOf(message.tag);
  if (message.own.empty()) {
    return listener != nullptr && listener->OnMessage(message.from, message.buffer);
  }
  if (message.tag != kControlTag) return false;
  early_.emplace_back(message.from, std::move(message.own));
  return DeliverEarly();
}

bool Receives::DeliverEarly() {
  bool any = false;
  Listener* listener = ListenerOf(kControlTag);
  while (listener != nullptr && !early_.empty()) {
    auto [from, message] = std::move(early_.front());
    early_.pop_front();
    const std::span<std::byte> buffer = listener->BufferFor(from, message.size());
    if (buffer.size() < message.size()) continue;
    std::copy(message.begin(), message.end(), buffer.begin());
    any |= listener->OnMessage(from, buffer.first(message.size()));
  }
  return any;
}

void Receives::Begin(const Wire::Incoming& message) {
  Receiving receiving{0, message.from, message.tag, {}, false, {}};
  Listener* listener = ListenerOf(message.tag);
  if (listener != nullptr) receiving.buffer = listener->BufferFor(message.from, message.bytes);
  if (receiving.buffer.size() < message.bytes) {
    receiving.own.resize(message.bytes);
    receiving.buffer = receiving.own;
  }
  receiving.buffer = receiving.buffer.first(message.bytes);
  receiving.request = wire_.BeginReceive(message, receiving.buffer.data());
  receives_.push_back(std::move(receiving));
}

}  // namespace cgraph::cluster
