#include "runtime/engine/machines/machines.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "runtime/base/omission.h"
#include "runtime/base/text.h"
#include "runtime/cluster/message.h"

namespace cgraph::engine {
namespace {

using Clock = std::chrono::steady_clock;
using cluster::Messenger;

// The pauses of the thread that polls while no worker does.
constexpr std::chrono::microseconds kShortestPause{1000}, kLongestPause{10000};
constexpr std::chrono::microseconds kTransferPause{100};

}  // namespace

Machines::Machines(const EngineView& engine, cluster::Peers& peers, uint32_t first_tag,
                   std::vector<uint32_t> weights)
    : engine_(engine),
      messenger_(peers.messenger),
      agreement_(
          messenger_, [this] { return was_interrupted_ = Interrupted(); }, engine.load_patience,
          [&peers](const std::vector<uint32_t>& ranks) { return peers.NamesOf(ranks); }),
      links_(messenger_, first_tag, agreement_) {
  if (messenger_.rank() == 0) {
    others_.emplace(engine, peers, agreement_);
  } else {
    reporter_.emplace(engine, messenger_, agreement_, std::move(weights));
  }
}

bool Machines::Interrupted() const {
  return messenger_.given_up() || engine_.ending.has_ended() || (others_ && others_->AnyFailed());
}

bool Machines::GivesUp() {
  if (loading_.load(std::memory_order_relaxed)) {
    messenger_.Poll();
    return was_interrupted_ = Interrupted();
  }
  return messenger_.given_up();
}

Status Machines::JoinRefusal(Status own) {
  return others_->JoinRefusal(std::move(own), was_interrupted_);
}

bool Machines::Poll() {
  polls_.store(polls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return PollOnce(/*positions=*/false);
}

// Reports first: rank 0 may wait for what the worker has just finished, and to look for messages
// takes a call of the system.
bool Machines::PollOnce(bool positions) {
  if (reporter_) reporter_->ReportProgress(positions);
  bool any = messenger_.Poll();
  any |= links_.Relay();
  if (reporter_) reporter_->SendAnswers();
  // Workers that wait for a message to leave are not notified of that otherwise.
  for (size_t w = 0; w < engine_.workers.workers.size() && any; ++w) {
    if (!engine_.loaded.IsHere(static_cast<uint32_t>(w))) continue;
    engine_.workers.workers[w]->event_count->Notify();
  }
  return any;
}

Status Machines::StartThread() try {
  thread_ = std::thread([this] { RunThread(); });
  return Status::Ok();
} catch (const std::system_error& error) {
  return Status(StatusCode::kNotFound,
                fmt::format("a rank needs a thread for its messages, and the system makes none: {}",
                            error.code().message()));
}

void Machines::EndThread() {
  {
    std::lock_guard lock(thread_mutex_);
    ends_ = true;
  }
  thread_ends_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// Goes on without a pause while messages move and the worker does not poll.
void Machines::RunThread() {
  std::unique_lock lock(thread_mutex_);
  std::chrono::microseconds pause = kShortestPause;
  uint64_t polls = 0;
  Clock::time_point sent = Clock::now();
  while (!thread_ends_.wait_for(lock, pause, [this] { return ends_; })) {
    const uint64_t now = polls_.load(std::memory_order_relaxed);
    const bool polled = std::exchange(polls, now) != now;
    lock.unlock();
    bool moved = false;
    if (const auto time = Clock::now(); reporter_ && time - sent >= cluster::kAliveInterval) {
      sent = time;
      reporter_->ReportAlive();
    }
    if (polled && reporter_) reporter_->ReportProgress(/*positions=*/true);
    while (!polled && PollOnce(/*positions=*/true)) {
      moved = true;
      if (polls_.load(std::memory_order_relaxed) != now) break;
    }
    lock.lock();
    if (messenger_.under_way()) {  // which goes on only while somebody polls
      pause = kTransferPause;
    } else {
      pause = moved ? kShortestPause : std::min(2 * pause, kLongestPause);
    }
  }
}

uint32_t NodesOf(const plan::Plan& plan) {
  uint32_t nodes = 1;
  for (const auto& device : plan.devices) nodes = std::max(nodes, device->node + 1);
  return nodes;
}

Status OthersServeAnotherEngine() {
  return Status(StatusCode::kUnsupported,
                "the other processes serve another engine, and one at a time; end that first");
}

Status CheckNodes(const plan::Plan& plan, const cluster::Peers& peers) {
  const uint32_t nodes = NodesOf(plan), processes = peers.messenger.count();
  if (nodes == processes) return Status::Ok();
  if (nodes == 1) {
    return Status(StatusCode::kInvalid,
                  fmt::format("the plan has devices of one machine, and {} processes were started, "
                              "of which each serves a machine; run it without a launcher, or put "
                              "actors on node[1]",
                              processes));
  }
  return Status(StatusCode::kInvalid,
                fmt::format("the plan has devices on {}, node[0] to node[{}], and {} processes "
                            "were started; start one for each node (mpirun -n {})",
                            Counted(nodes, "node"), nodes - 1, processes, nodes));
}

bool EndMachines(cluster::Peers& peers, int exit_code) {
  Messenger& messenger = peers.messenger;
  // A rank may have gone while there was no engine.
  const auto lost = [&] { return messenger.given_up() || peers.FirstLost().has_value(); };
  cluster::MachineMessage quit{.kind = cluster::MachineMessage::kQuit};
  quit.quit = {exit_code};
  for (uint32_t rank = 1; rank < messenger.count() && !lost(); ++rank) {
    SendMessage(messenger, rank, quit);
  }
  PollUntil(messenger, [&] { return lost() || messenger.AllSent(); });
  if (lost()) return false;
  if (peers.supervision != nullptr && !Omits(Omission::kLostAtEnd)) {
    peers.supervision->OnLost([&](const auto&) {
      peers.supervision->SayEnds();
      messenger.EndAll(exit_code);
    });
  }
  messenger.wire().Finish();
  peers.supervision.reset();
  return true;
}

}  // namespace cgraph::engine
