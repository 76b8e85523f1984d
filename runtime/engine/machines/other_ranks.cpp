#include "runtime/engine/machines/other_ranks.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "runtime/base/omission.h"
#include "runtime/base/text.h"
#include "runtime/engine/machines/plan_message.h"

namespace cgraph::engine {
namespace {

using Clock = std::chrono::steady_clock;

// After how long without a word of a rank reports say so; a rank tells more often that it is alive.
constexpr auto kSilence = std::chrono::milliseconds(800);
static_assert(kSilence > 2 * cluster::kAliveInterval);

}  // namespace

OtherRanks::OtherRanks(const EngineView& engine, cluster::Peers& peers,
                       cluster::Agreement& agreement)
    : engine_(engine),
      peers_(peers),
      messenger_(peers.messenger),
      agreement_(agreement),
      others_(messenger_.count() - 1),
      buffers_(messenger_.count()),
      has_loaded_(messenger_.count(), false),
      last_message_ns_(messenger_.count()),
      clocks_(messenger_.count()) {
  for (std::atomic<int64_t>& last : last_message_ns_) last = cluster::NowNs();
  messenger_.Listen(cluster::kMachineTag, this);
  if (peers_.supervision != nullptr) {
    peers_.supervision->OnLost([this](const auto& lost) { OnLost(lost); });
  }
}

void OtherRanks::SendToAll(const cluster::MachineMessage& message, std::string_view text) {
  for (uint32_t rank = 1; rank <= others_; ++rank) {
    SendMessage(messenger_, rank, message, text);
  }
}

// Polls in between, so that no more is kept for sending than the wire has not taken.
void OtherRanks::SendPlan(plan::NodeParts& parts, const EngineOptions& options, uint32_t first_tag,
                          const device::GpuMap& gpus, const plan::Placement& placement) {
  const SharedText shared = MakeSharedText(options, first_tag, gpus, placement, parts.totals());
  for (uint32_t rank = 1; rank <= others_; ++rank) {
    SendMessage(messenger_, rank, {.kind = cluster::MachineMessage::kPlan},
                TextFor(shared, parts.Of(rank)));
    messenger_.Poll();
  }
}

// Once a rank has refused the plan, the others have a moment to refuse it as well.
Status OtherRanks::AwaitLoaded(std::chrono::nanoseconds timeout) {
  auto end = Clock::now() + timeout;
  bool late = false;
  std::optional<Clock::time_point> refused;
  PollUntil(messenger_, [&] {
    const auto now = Clock::now();
    // What is sent piece by piece moves.
    if (AnswerWeightQuestions()) end = now + timeout;
    late = timeout.count() > 0 && now > end;
    if (!refused && HasRefusals()) refused = now;
    return late || (refused && now > *refused + cluster::kMachineGrace) || messenger_.given_up() ||
           loaded_.load(std::memory_order_acquire) == others_;
  });
  std::lock_guard lock(mutex_);
  if (!load_error_.ok()) return load_error_;
  CGRAPH_RETURN_IF_ERROR(cluster::JoinRefusals(refusals_, "node[", "]"));
  started_ = !late;
  if (!late) return Status::Ok();
  std::vector<uint32_t> missing;
  for (uint32_t rank = 1; rank <= others_; ++rank) {
    if (!has_loaded_[rank]) missing.push_back(rank);
  }
  return Status(StatusCode::kTimeout,
                fmt::format("{} {} not loaded the plan in {} s", peers_.NamesOf(missing),
                            missing.size() == 1 ? "has" : "have",
                            std::chrono::duration<double>(timeout).count()));
}

std::pair<uint64_t, uint64_t> OtherRanks::WeightBytesOf(uint32_t rank) const {
  std::lock_guard lock(mutex_);
  const auto found = weight_bytes_.find(rank);
  return found == weight_bytes_.end() ? std::pair<uint64_t, uint64_t>() : found->second;
}

bool OtherRanks::HasRefusals() const {
  std::lock_guard lock(mutex_);
  return !refusals_.empty();
}

bool OtherRanks::AnyFailed() const {
  std::lock_guard lock(mutex_);
  return !refusals_.empty() || !load_error_.ok();
}

bool OtherRanks::AnswerWeightQuestions() {
  return engine_.loaded.kernels != nullptr &&
         questions_.Answer(messenger_, *engine_.loaded.plan, engine_.loaded.kernels->weights());
}

Status OtherRanks::JoinRefusal(Status own, bool interrupted) {
  const auto end = Clock::now() + cluster::kMachineGrace;
  PollUntil(messenger_, [&] {
    AnswerWeightQuestions();
    return messenger_.given_up() || loaded_.load(std::memory_order_acquire) == others_ ||
           Clock::now() > end;
  });
  std::lock_guard lock(mutex_);
  if (!load_error_.ok()) return load_error_;
  // What another rank has brought about is that one's to say.
  if (!interrupted || refusals_.empty()) {
    refusals_.push_back({0, peers_.ProcessOf(0).Text(), std::move(own)});
  }
  return cluster::JoinRefusals(refusals_, "node[", "]");
}

void OtherRanks::SendRound(uint32_t graph, const cluster::RoundMessage& round,
                           std::span<const int64_t> extents) {
  cluster::MachineMessage message{.kind = cluster::MachineMessage::kRound, .graph = graph};
  message.round = round;
  SendToAll(message, {reinterpret_cast<const char*>(extents.data()), extents.size_bytes()});
}

// Called by a thread of the supervision. A rank that goes before all have started is found by
// AwaitLoaded(): until then there is half an engine, which nobody else may touch.
void OtherRanks::OnLost(const cluster::Supervision::Lost& lost) {
  bool started = false;
  {
    std::lock_guard lock(mutex_);
    started = started_;
    if (!started) {
      load_error_ =
          Status(StatusCode::kLost, fmt::format("rank {} ({}) {}; it had not loaded the plan yet",
                                                lost.rank, lost.process.Text(), lost.how));
    }
  }
  if (!Omits(Omission::kGiveUp)) messenger_.GiveUp();
  if (started) engine_.lost(lost.rank, lost.process.Text(), lost.how);
}

void OtherRanks::End() {
  if (!messenger_.given_up()) SendToAll({.kind = cluster::MachineMessage::kEnd});
  const auto end = Clock::now() + cluster::kMachineGrace;
  bool all = false;
  PollUntil(messenger_, [&] {
    all = ended_.load(std::memory_order_acquire) == others_ && messenger_.AllSent();
    return all || messenger_.given_up() || Clock::now() > end;
  });
  // This may outlive its engine, as long as callers hold results; the next engine listens then.
  if (peers_.supervision != nullptr) peers_.supervision->OnLost(nullptr);
  messenger_.Listen(cluster::kMachineTag, nullptr);
  if (!all) messenger_.GiveUp();
  if (all) messenger_.Unclaim();
}

void OtherRanks::OnFailure(uint32_t from, const cluster::MachineMessage& message,
                           std::string_view text) {
  if (message.graph >= engine_.loaded.graphs.size()) return;
  LoadedGraph& graph = *engine_.loaded.graphs[message.graph];
  if (message.frame >= graph.frames.size()) return;
  Frame& frame = graph.frames[message.frame];
  if (message.work_queue >= frame.failures.slots.size()) return;
  // What fails while states are initialised is mostly a file, which is on that machine.
  const bool start = message.graph >= engine_.loaded.plan->graphs.size();
  frame.failures.slots[message.work_queue].Set(
      message.failure.program_order,
      start ? fmt::format("node[{}] ({}): {}", from, peers_.ProcessOf(from).Text(), text) : text);
  frame.failures.any_set->store(true, std::memory_order_release);
}

std::optional<std::chrono::nanoseconds> OtherRanks::SilenceOf(uint32_t rank) const {
  if (rank == 0) return std::nullopt;
  const std::chrono::nanoseconds silence(cluster::NowNs() -
                                         last_message_ns_[rank].load(std::memory_order_relaxed));
  return silence < kSilence ? std::nullopt : std::optional(silence);
}

std::string OtherRanks::SilentRanks() const {
  constexpr size_t kNamed = 4;
  std::string text;
  std::vector<uint32_t> others;
  for (uint32_t rank = 1, silent = 0; rank <= others_; ++rank) {
    const auto silence = SilenceOf(rank);
    if (!silence) continue;
    if (++silent > kNamed) {
      others.push_back(rank);
      continue;
    }
    text += fmt::format(
        "rank {} ({}: {}) has told nothing for {:.1f} s: it is stopped by a "
        "signal, or its machine cannot be reached\n",
        rank, peers_.ProcessOf(rank).Text(), engine_.loaded.DevicesOf(rank),
        std::chrono::duration<double>(*silence).count());
  }
  if (others.empty()) return text;
  return text + fmt::format("so have {}\n", RangesText(others, "rank ", ""));
}

void OtherRanks::OnLoaded(uint32_t from, const cluster::MachineMessage& message,
                          std::string_view text) {
  std::string process = peers_.ProcessOf(from).Text();
  {
    std::lock_guard lock(mutex_);
    has_loaded_[from] = true;
    if (message.code == StatusCode::kOk) {
      weight_bytes_[from] = {message.loaded.weight_bytes_read, message.loaded.weight_bytes_sent};
    } else {
      refusals_.push_back({from, std::move(process), {message.code, std::string(text)}});
    }
  }
  loaded_.fetch_add(1, std::memory_order_release);
}

void OtherRanks::OnHeads(const cluster::MachineMessage& message, std::string_view text) {
  if (message.work_queue >= engine_.workers.work_queues.size()) return;
  std::vector<device::Head> heads(text.size() / sizeof(device::Head));
  if (!heads.empty()) std::memcpy(heads.data(), text.data(), heads.size() * sizeof(device::Head));
  engine_.workers.work_queues[message.work_queue]->positions().SetHeads(std::move(heads));
}

bool OtherRanks::OnMessage(uint32_t from, std::span<const std::byte>) {
  std::vector<std::byte> message = buffers_[from].Take();
  last_message_ns_[from].store(cluster::NowNs(), std::memory_order_relaxed);
  const bool matters = Dispatch(from, message);
  buffers_[from].Return(std::move(message));
  return matters;
}

bool OtherRanks::Dispatch(uint32_t from, std::span<const std::byte> bytes) {
  const auto [message, text] = cluster::ReadMessage(bytes);
  switch (message.kind) {
    case cluster::MachineMessage::kAskWeights:
      questions_.Note(from, message, text);
      break;
    case cluster::MachineMessage::kAgree:
      agreement_.OnMessage(from, text);
      break;
    case cluster::MachineMessage::kLoaded:
      OnLoaded(from, message, text);
      break;
    case cluster::MachineMessage::kProgress:
      if (message.work_queue < engine_.workers.work_queues.size()) {
        const auto& [done, at, round] = message.progress;
        engine_.workers.work_queues[message.work_queue]->inbox().SetProgress({done, at, round});
      }
      break;
    case cluster::MachineMessage::kFailure:
      OnFailure(from, message, text);
      break;
    case cluster::MachineMessage::kHeads:
      OnHeads(message, text);
      break;
    case cluster::MachineMessage::kDeviceFailed:
      engine_.device_failed(Status(message.code, std::string(text)));
      break;
    case cluster::MachineMessage::kAlive:
      break;
    case cluster::MachineMessage::kClock:
      OnClock(from, message);
      break;
    case cluster::MachineMessage::kTimings:
      OnTimings(message, text);
      break;
    case cluster::MachineMessage::kTrace:
      OnTrace(from, message, text);
      break;
    case cluster::MachineMessage::kMeasured:
      if (message.question == question_.load(std::memory_order_relaxed)) {
        answers_.fetch_add(1, std::memory_order_release);
      }
      break;
    case cluster::MachineMessage::kStates:
      states_ = text;
      has_states_.store(true, std::memory_order_release);
      break;
    case cluster::MachineMessage::kEnded:
      ended_.fetch_add(1, std::memory_order_release);
      break;
    // These come while there is no engine, or from rank 0.
    case cluster::MachineMessage::kNone:
    case cluster::MachineMessage::kGpus:
    case cluster::MachineMessage::kDescribe:
    case cluster::MachineMessage::kPlan:
    case cluster::MachineMessage::kWeights:
    case cluster::MachineMessage::kRound:
    case cluster::MachineMessage::kMeasure:
    case cluster::MachineMessage::kForget:
    case cluster::MachineMessage::kEnd:
    case cluster::MachineMessage::kQuit:
      break;
  }
  return message.kind != cluster::MachineMessage::kAlive &&
         message.kind != cluster::MachineMessage::kHeads;
}

}  // namespace cgraph::engine
