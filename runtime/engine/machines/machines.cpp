#include "runtime/engine/machines/machines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "runtime/engine/core.h"
#include "runtime/engine/machines/message.h"
#include "runtime/engine/machines/plan_message.h"
#include "runtime/engine/omission.h"
#include "runtime/status/ranges.h"
#include "runtime/status/text.h"

namespace cgraph::engine {
namespace {

using Clock = std::chrono::steady_clock;
using ranks::Messenger;

// How often a work queue's position is sent while it finishes nothing; time-out reports show it.
constexpr auto kPositionInterval = std::chrono::milliseconds(20);

// How often a rank tells that it is alive, and after how long without a word reports say so.
constexpr auto kAliveInterval = std::chrono::milliseconds(250);
constexpr auto kSilence = std::chrono::milliseconds(800);
// The pauses of the thread that polls while no worker does.
constexpr std::chrono::microseconds kShortestPause{1000}, kLongestPause{10000};
constexpr std::chrono::microseconds kTransferPause{100};

}  // namespace

Machines::Machines(Core& core, ranks::Peers& peers, uint32_t first_tag)
    : core_(core),
      peers_(peers),
      messenger_(peers.messenger),
      next_tag_(first_tag),
      buffers_(messenger_.count()),
      agreement_(
          messenger_, [this] { return was_interrupted_ = Interrupted(); }, core.LoadPatience(),
          [this](const std::vector<uint32_t>& ranks) { return NamesOf(ranks); }),
      has_loaded_(messenger_.count(), false),
      last_message_ns_(messenger_.count()),
      clocks_(messenger_.count()) {
  for (std::atomic<int64_t>& last : last_message_ns_) last = NowNs();
  if (messenger_.rank() != 0) return;
  messenger_.Listen(kMachineTag, this);
  if (peers_.supervision != nullptr) {
    peers_.supervision->OnLost([this](const auto& lost) { OnLost(lost); });
  }
}

Result<uint32_t> Machines::NewTags(uint64_t count) {
  const uint32_t first = next_tag_;
  if (count > messenger_.wire().most_tag() - first) {
    return Status(StatusCode::kUnsupported,
                  fmt::format("the plan has more than {} channels and members of collectives "
                              "between machines, which is what {} has tags for",
                              messenger_.wire().most_tag(), messenger_.wire().library()));
  }
  next_tag_ += static_cast<uint32_t>(count);
  messenger_.UseTagsBelow(next_tag_);
  return first;
}

void Machines::SendToAll(const MachineMessage& message, std::string_view text) {
  for (uint32_t rank = 1; rank < messenger_.count(); ++rank) {
    SendMessage(messenger_, rank, message, text);
  }
}

// ---- rank 0 -------------------------------------------------------------------------------------

// Polls in between, so that no more is kept for sending than the wire has not taken.
void Machines::SendPlan(plan::NodeParts& parts, const EngineOptions& options,
                        const device::GpuMap& gpus, const workers::Placement& placement) {
  const SharedText shared = MakeSharedText(options, next_tag_, gpus, placement, parts.totals());
  for (uint32_t rank = 1; rank < messenger_.count(); ++rank) {
    MachineMessage head;
    const std::string text = TextFor(head, shared, parts.Of(rank));
    SendMessage(messenger_, rank, head, text);
    messenger_.Poll();
  }
}

// Once a rank has refused the plan, the others have a moment to refuse it as well.
Status Machines::AwaitLoaded(std::chrono::nanoseconds timeout) {
  auto end = Clock::now() + timeout;
  const uint32_t others = messenger_.count() - 1;
  bool late = false;
  std::optional<Clock::time_point> refused;
  PollUntil(messenger_, [&] {
    const auto now = Clock::now();
    // What is sent piece by piece moves.
    if (AnswerQuestions()) end = now + timeout;
    late = timeout.count() > 0 && now > end;
    if (!refused && Refused()) refused = now;
    return late || (refused && now > *refused + kMachineGrace) || messenger_.given_up() ||
           loaded_.load(std::memory_order_acquire) == others;
  });
  std::lock_guard lock(mutex_);
  if (!load_error_.ok()) return load_error_;
  CGRAPH_RETURN_IF_ERROR(ranks::JoinRefusals(refusals_, "node[", "]"));
  started_ = !late;
  if (!late) return Status::Ok();
  std::vector<uint32_t> missing;
  for (uint32_t rank = 1; rank <= others; ++rank) {
    if (!has_loaded_[rank]) missing.push_back(rank);
  }
  return Status(StatusCode::kTimeout,
                fmt::format("{} {} not loaded the plan in {} s", NamesOf(missing),
                            missing.size() == 1 ? "has" : "have",
                            std::chrono::duration<double>(timeout).count()));
}

// Returns "rank 1 (process 7 on b), rank 2 (process 8 on c)"; of many, the first and how many more.
std::string Machines::NamesOf(const std::vector<uint32_t>& ranks) const {
  constexpr size_t kNamed = 4;
  std::string names;
  for (size_t i = 0; i < std::min(ranks.size(), kNamed); ++i) {
    names +=
        fmt::format("{}rank {} ({})", i == 0 ? "" : ", ", ranks[i], ProcessOf(ranks[i]).Text());
  }
  if (ranks.size() > kNamed) names += fmt::format(" and {} more", ranks.size() - kNamed);
  return names;
}

std::pair<uint64_t, uint64_t> Machines::WeightsOf(uint32_t rank) const {
  std::lock_guard lock(mutex_);
  const auto found = weights_.find(rank);
  return found == weights_.end() ? std::pair<uint64_t, uint64_t>() : found->second;
}

bool Machines::Interrupted() const {
  if (messenger_.given_up() || core_.ended()) return true;
  std::lock_guard lock(mutex_);
  return !refusals_.empty() || !load_error_.ok();
}

bool Machines::GivesUp() {
  if (loading_.load(std::memory_order_relaxed)) {
    messenger_.Poll();
    return was_interrupted_ = Interrupted();
  }
  return messenger_.given_up();
}

bool Machines::Refused() const {
  std::lock_guard lock(mutex_);
  return !refusals_.empty();
}

bool Machines::AnswerQuestions() {
  return core_.kernels_ != nullptr &&
         questions_.Answer(messenger_, *core_.plan_, core_.kernels_->weights());
}

Status Machines::JoinRefusal(Status own) {
  const auto end = Clock::now() + kMachineGrace;
  const uint32_t others = messenger_.count() - 1;
  PollUntil(messenger_, [&] {
    AnswerQuestions();
    return messenger_.given_up() || loaded_.load(std::memory_order_acquire) == others ||
           Clock::now() > end;
  });
  std::lock_guard lock(mutex_);
  if (!load_error_.ok()) return load_error_;
  // What another rank has brought about is that one's to say.
  if (!was_interrupted_ || refusals_.empty()) {
    refusals_.push_back({0, ProcessOf(0).Text(), std::move(own)});
  }
  return ranks::JoinRefusals(refusals_, "node[", "]");
}

void Machines::Submitted(uint32_t graph, const RoundMessage& round,
                         std::span<const int64_t> extents) {
  MachineMessage message{.kind = MachineMessage::kRound, .graph = graph};
  message.round = {round.empty, round.flagged, round.failed};
  SendToAll(message, {reinterpret_cast<const char*>(extents.data()), extents.size_bytes()});
}

// Called by a thread of the supervision. A rank that goes before all have started is found by
// AwaitLoaded(): until then there is half an engine, which nobody else may touch.
void Machines::OnLost(const ranks::Supervision::Lost& lost) {
  bool started = false;
  {
    std::lock_guard lock(mutex_);
    started = started_;
    if (!started) {
      load_error_ = Status(StatusCode::kLost,
                           fmt::format("rank {} ({}) {} before it had loaded the plan", lost.rank,
                                       lost.process.Text(), lost.how));
    }
  }
  if (!Omits(Omission::kGiveUp)) messenger_.GiveUp();
  if (started) core_.EndWithout(lost.rank, lost.process.Text(), lost.how);
}

void Machines::End() {
  if (!messenger_.given_up()) SendToAll({.kind = MachineMessage::kEnd}, {});
  const auto end = Clock::now() + kMachineGrace;
  const uint32_t others = messenger_.count() - 1;
  bool all = false;
  PollUntil(messenger_, [&] {
    all = ended_.load(std::memory_order_acquire) == others && messenger_.AllSent();
    return all || messenger_.given_up() || Clock::now() > end;
  });
  // This may outlive its engine, as long as callers hold results; the next engine listens then.
  if (peers_.supervision != nullptr) peers_.supervision->OnLost(nullptr);
  messenger_.Listen(kMachineTag, nullptr);
  if (!all) messenger_.GiveUp();
  if (all) messenger_.Unclaim();
}

void Machines::OnFailure(uint32_t from, const MachineMessage& message, std::string_view text) {
  if (message.graph >= core_.graphs_.size()) return;
  LoadedGraph& graph = *core_.graphs_[message.graph];
  if (message.frame >= graph.frames.size()) return;
  Frame& frame = graph.frames[message.frame];
  if (message.work_queue >= frame.failures.slots.size()) return;
  // What fails while states are initialised is mostly a file, which is on that machine.
  const bool start = message.graph >= core_.plan_->graphs.size();
  frame.failures.slots[message.work_queue].Set(
      message.failure.program_order,
      start ? fmt::format("node[{}] ({}): {}", from, ProcessOf(from).Text(), text) : text);
  frame.failures.any_set->store(true, std::memory_order_release);
}

ranks::Process Machines::ProcessOf(uint32_t rank) const {
  if (rank == messenger_.rank()) return ranks::Process::This();
  return peers_.supervision == nullptr ? ranks::Process() : peers_.supervision->ProcessOf(rank);
}

std::optional<std::chrono::nanoseconds> Machines::SilenceOf(uint32_t rank) const {
  if (rank == 0 || messenger_.rank() != 0) return std::nullopt;
  const std::chrono::nanoseconds silence(NowNs() -
                                         last_message_ns_[rank].load(std::memory_order_relaxed));
  return silence < kSilence ? std::nullopt : std::optional(silence);
}

std::string Machines::SilentRanks() const {
  constexpr size_t kNamed = 4;
  std::string text;
  std::vector<uint32_t> others;
  for (uint32_t rank = 1, silent = 0; rank < messenger_.count(); ++rank) {
    const auto silence = SilenceOf(rank);
    if (!silence) continue;
    if (++silent > kNamed) {
      others.push_back(rank);
      continue;
    }
    text += fmt::format("rank {} ({}: {}) has told nothing for {:.1f} s: it is stopped by a "
                        "signal, or its machine cannot be reached\n",
                        rank, ProcessOf(rank).Text(), core_.DevicesOf(rank),
                        std::chrono::duration<double>(*silence).count());
  }
  if (others.empty()) return text;
  return text + fmt::format("so have {}\n", RangesText(others, "rank ", ""));
}

// ---- the others ---------------------------------------------------------------------------------

void Machines::SetWeights(std::vector<uint32_t> numbers) {
  first_rank_ = std::make_unique<AskedFirstRank>(
      messenger_, std::move(numbers), [this] { return core_.ended(); }, core_.LoadPatience());
}

void Machines::Loaded(const Status& status, uint64_t read_bytes, uint64_t sent_bytes) {
  MachineMessage message{.kind = MachineMessage::kLoaded};
  message.loaded = {status.code(), read_bytes, sent_bytes};
  SendMessage(messenger_, 0, message, status.message());
}

// Reports an execution's failures before the progress that ends it. `positions`: also where work
// queues are that have finished nothing, which takes a look at the clock.
void Machines::Report(bool positions) {
  std::unique_lock lock(report_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  reported_.resize(core_.work_queues_.size());
  for (uint32_t w = 0; w < reported_.size(); ++w) {
    if (!core_.IsHere(core_.placement_.worker_of_work_queue[w])) continue;
    const WorkQueue& work_queue = *core_.work_queues_[w];
    const WorkQueue::Progress progress = work_queue.progress();
    Reported& reported = reported_[w];
    if (const uint64_t failures = work_queue.failures();
        failures != reported.failures && !Omits(Omission::kTellFailure)) {
      reported.failures = failures;
      ReportFailures(w);
    }
    ReportHeads(w);
    if (progress.done == reported.done) {
      if (progress.at == reported.at || !positions) continue;
      const auto now = Clock::now();
      if (now - reported.when < kPositionInterval) continue;
      reported.when = now;
    }
    reported.done = progress.done;
    reported.at = progress.at;
    MachineMessage message{.kind = MachineMessage::kProgress, .work_queue = w};
    message.progress = {progress.done, progress.at, progress.round};
    SendMessage(messenger_, 0, message);
  }
}

// Reports where the work queue's queues are, while something that was issued to them is not over:
// the work queue itself is through with it then.
void Machines::ReportHeads(uint32_t work_queue) {
  if (!core_.work_queues_[work_queue]->has_queues()) return;
  std::unique_lock queues(core_.report_mutex_, std::try_to_lock);
  if (!queues.owns_lock()) return;  // they are being closed
  const WorkQueue& from = *core_.work_queues_[work_queue];
  Reported& reported = reported_[work_queue];
  const bool pending = from.pushed() != from.done();
  const auto now = Clock::now();
  if (!pending && !reported.heads) return;
  if (pending && now - reported.heads_when < kPositionInterval) return;
  reported.heads_when = now;
  const std::vector<device::Head> heads =
      pending ? from.Heads() : std::vector<device::Head>();
  reported.heads = !heads.empty();
  SendMessage(messenger_, 0, {.kind = MachineMessage::kHeads, .work_queue = work_queue},
              {reinterpret_cast<const char*>(heads.data()), heads.size() * sizeof(heads[0])});
}

// Reports the failures that the work queue has noted since the last time; before them that of a
// device, whose consequence they may be.
void Machines::ReportFailures(uint32_t work_queue) {
  for (const auto& device : core_.devices_) {
    const Status failure = device->Failure();
    if (failure.ok()) continue;
    MachineMessage message{.kind = MachineMessage::kDeviceFailed};
    message.loaded = {failure.code(), 0, 0};
    SendMessage(messenger_, 0, message, failure.message());
  }
  for (uint32_t g = 0; g < core_.graphs_.size(); ++g) {
    std::vector<Frame>& frames = core_.graphs_[g]->frames;
    for (uint32_t f = 0; f < frames.size(); ++f) {
      const FailureSlot& slot = frames[f].failures.slots[work_queue];
      uint64_t& reported = reported_[work_queue].versions[{g, f}];
      const auto failure = slot.Get();
      if (!failure || reported == failure->version) continue;
      reported = failure->version;
      MachineMessage message{.kind = MachineMessage::kFailure, .graph = g, .frame = f,
                             .work_queue = work_queue};
      message.failure = {failure->program_order};
      SendMessage(messenger_, 0, message, failure->text);
    }
  }
}

// ---- all ----------------------------------------------------------------------------------------

bool Machines::Poll() {
  polls_.store(polls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return PollOnce(/*positions=*/false);
}

// Reports first: rank 0 may wait for what the worker has just finished, and to look for messages
// takes a call of the system.
bool Machines::PollOnce(bool positions) {
  const bool others = messenger_.rank() != 0;
  if (others) Report(positions);
  bool any = messenger_.Poll();
  for (channel::Channel* channel : relays_) any |= channel->Relay();
  if (others) SendAnswers();
  // Workers that wait for a message to leave are not notified of that otherwise.
  for (size_t w = 0; w < core_.workers_.size() && any; ++w) {
    if (core_.IsHere(static_cast<uint32_t>(w))) core_.workers_[w]->event_count->Notify();
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
    if (const auto time = Clock::now(); messenger_.rank() != 0 && time - sent >= kAliveInterval) {
      sent = time;
      SendMessage(messenger_, 0, {.kind = MachineMessage::kAlive});
    }
    if (polled && messenger_.rank() != 0) Report(/*positions=*/true);
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

void Machines::OnLoaded(uint32_t from, const MachineMessage& message, std::string_view text) {
  std::string process = ProcessOf(from).Text();
  {
    std::lock_guard lock(mutex_);
    has_loaded_[from] = true;
    if (message.loaded.code == StatusCode::kOk) {
      weights_[from] = {message.loaded.read_bytes, message.loaded.sent_bytes};
    } else {
      refusals_.push_back({from, std::move(process), {message.loaded.code, std::string(text)}});
    }
  }
  loaded_.fetch_add(1, std::memory_order_release);
}

bool Machines::Dispatch(uint32_t from, std::span<const std::byte> bytes) {
  const auto [message, text] = Read(bytes);
  switch (message.kind) {
    case MachineMessage::kAskWeights:
      questions_.Note(from, message, text);
      break;
    case MachineMessage::kWeights:
      if (first_rank_ != nullptr) first_rank_->OnAnswer(message, text);
      break;
    case MachineMessage::kAgree:
      agreement_.OnMessage(from, text);
      break;
    case MachineMessage::kLoaded:
      OnLoaded(from, message, text);
      break;
    case MachineMessage::kRound:
      core_.AcceptRound(message.graph,
                        {message.round.empty, message.round.flagged, message.round.failed}, text);
      break;
    case MachineMessage::kProgress:
      if (message.work_queue < core_.work_queues_.size()) {
        const auto& [done, at, round] = message.progress;
        core_.work_queues_[message.work_queue]->SetProgress({done, at, round});
      }
      break;
    case MachineMessage::kFailure: OnFailure(from, message, text); break;
    case MachineMessage::kHeads:
      if (message.work_queue < core_.work_queues_.size()) {
        std::vector<device::Head> heads(text.size() / sizeof(device::Head));
        if (!heads.empty()) {
          std::memcpy(heads.data(), text.data(), heads.size() * sizeof(device::Head));
        }
        core_.work_queues_[message.work_queue]->SetHeads(std::move(heads));
      }
      break;
    case MachineMessage::kDeviceFailed:
      core_.EndByDevice(Status(message.loaded.code, std::string(text)));
      break;
    case MachineMessage::kEnd:
      core_.End(Status(StatusCode::kClosed, "rank 0 has ended the engine"));
      break;
    case MachineMessage::kEnded: ended_.fetch_add(1, std::memory_order_release); break;
    case MachineMessage::kAlive: break;
    case MachineMessage::kClock:
      if (messenger_.rank() != 0) {
        asked_clock_.store(message.question, std::memory_order_release);
      } else {
        OnClock(from, message);
      }
      break;
    case MachineMessage::kMeasure:
      asked_measurements_.store(message.question, std::memory_order_release);
      break;
    case MachineMessage::kTimings: OnTimings(message, text); break;
    case MachineMessage::kTrace: OnTrace(from, message, text); break;
    case MachineMessage::kMeasured:
      if (message.question == question_.load(std::memory_order_relaxed)) {
        answers_.fetch_add(1, std::memory_order_release);
      }
      break;
    case MachineMessage::kForget:
      if (messenger_.rank() != 0) core_.ForgetMeasurements();
      break;
    case MachineMessage::kNone:
    case MachineMessage::kGpus:
    case MachineMessage::kDescribe:
    case MachineMessage::kPlan:
    case MachineMessage::kQuit: break;  // while there is an engine none of these comes
  }
  return message.kind != MachineMessage::kAlive && message.kind != MachineMessage::kHeads;
}

uint32_t NodesOf(const plan::Plan& plan) {
  uint32_t nodes = 1;
  for (const auto& device : plan.devices) nodes = std::max(nodes, device->node + 1);
  return nodes;
}

Status CheckNodes(const plan::Plan& plan, const ranks::Peers& peers) {
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

bool EndMachines(ranks::Peers& peers, int exit_code) {
  Messenger& messenger = peers.messenger;
  // A rank may have gone while there was no engine.
  const auto lost = [&] { return messenger.given_up() || peers.FirstLost().has_value(); };
  for (uint32_t rank = 1; rank < messenger.count() && !lost(); ++rank) {
    SendMessage(messenger, rank, {.kind = MachineMessage::kQuit});
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
