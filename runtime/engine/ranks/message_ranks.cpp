#include "runtime/engine/ranks/message_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "runtime/cluster/message.h"

namespace cgraph::engine {
namespace {

using Clock = std::chrono::steady_clock;

// The pauses of the thread that polls while no worker does.
constexpr std::chrono::microseconds kShortestPause{1000}, kLongestPause{10000};
constexpr std::chrono::microseconds kTransferPause{100};

}  // namespace

MessageRanks::MessageRanks(const EngineOptions& options, const EngineView& engine)
    : Ranks(options, engine),
      peers_(*options.peers),
      messenger_(peers_.messenger),
      agreement_(
          messenger_, [this] { return was_interrupted_ = Interrupted(); }, LoadPatience(),
          [this](const std::vector<uint32_t>& ranks) { return peers_.NamesOf(ranks); }) {}

void MessageRanks::Join(uint32_t first_tag) {
  links_.emplace(messenger_, first_tag, agreement_);
  loaded_.rank = messenger_.rank();
  loaded_.ranks = messenger_.count();
}

LoadContext MessageRanks::Context() {
  LoadContext context = Ranks::Context();
  context.links = &*links_;
  context.among.gives_up = [this] { return ending_.has_ended() || GivesUp(); };
  return context;
}

void MessageRanks::Configure(Workers::Settings& settings) {
  settings.cores = peers_.share_of_cores;
  settings.poll = [this] { return Poll(); };
}

bool MessageRanks::Interrupted() const {
  return messenger_.given_up() || ending_.has_ended() || AnyFailed();
}

// Goes on with messages while the plan is loaded: a thread that waits for a device's library calls
// this and polls nowhere else.
bool MessageRanks::GivesUp() {
  if (!loading_.load(std::memory_order_relaxed)) return messenger_.given_up();
  messenger_.Poll();
  return was_interrupted_ = Interrupted();
}

bool MessageRanks::Poll() {
  polls_.store(polls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return PollOnce(/*positions=*/false);
}

// Reports first: rank 0 may wait for what the worker has just finished, and to look for messages
// takes a call of the system.
bool MessageRanks::PollOnce(bool positions) {
  Report(positions);
  bool any = messenger_.Poll();
  any |= links_->Relay();
  SendAnswers();
  // Workers that wait for a message to leave are not notified of that otherwise.
  for (size_t w = 0; w < engine_.workers.workers.size() && any; ++w) {
    if (!loaded_.IsHere(static_cast<uint32_t>(w))) continue;
    engine_.workers.workers[w]->event_count->Notify();
  }
  return any;
}

Status MessageRanks::StartThread() try {
  thread_ = std::thread([this] { RunThread(); });
  return Status::Ok();
} catch (const std::system_error& error) {
  return Status(StatusCode::kNotFound,
                fmt::format("a rank needs a thread for its messages, and the system makes none: {}",
                            error.code().message()));
}

void MessageRanks::EndThread() {
  {
    std::lock_guard lock(thread_mutex_);
    ends_ = true;
  }
  thread_ends_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// Goes on without a pause while messages move and the worker does not poll.
void MessageRanks::RunThread() {
  std::unique_lock lock(thread_mutex_);
  std::chrono::microseconds pause = kShortestPause;
  uint64_t polls = 0;
  Clock::time_point sent = Clock::now();
  while (!thread_ends_.wait_for(lock, pause, [this] { return ends_; })) {
    const uint64_t now = polls_.load(std::memory_order_relaxed);
    const bool polled = std::exchange(polls, now) != now;
    lock.unlock();
    bool moved = false;
    if (const auto time = Clock::now(); time - sent >= cluster::kAliveInterval) {
      sent = time;
      ReportAlive();
    }
    if (polled) Report(/*positions=*/true);
    while (!polled && PollOnce(/*positions=*/true)) {
      moved = true;
      if (polls_.load(std::memory_order_relaxed) != now) break;
    }
    lock.lock();
    if (messenger_.under_way()) {  // which goes on only while a thread polls
      pause = kTransferPause;
    } else {
      pause = moved ? kShortestPause : std::min(2 * pause, kLongestPause);
    }
  }
}

}  // namespace cgraph::engine
