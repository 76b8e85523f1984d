#include "runtime/engine/ranks/other_ranks.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "runtime/base/text.h"
#include "runtime/base/wait_point.h"
#include "runtime/engine/ranks/machines.h"
#include "runtime/engine/ranks/plan_message.h"
#include "runtime/plan/node_parts.h"
#include "runtime/plan/prove.h"

namespace cgraph::engine {
namespace {

using Clock = std::chrono::steady_clock;

// Reports name a rank that has sent nothing for so long; a rank tells more often that it is alive.
constexpr auto kSilence = std::chrono::milliseconds(800);
static_assert(kSilence > 2 * cluster::kAliveInterval);

}  // namespace

// ---- LoadTally ----------------------------------------------------------------------------------

void LoadTally::Note(uint32_t rank, const cluster::Process& process, Status status,
                     std::pair<uint64_t, uint64_t> weight_bytes) {
  {
    std::lock_guard lock(mutex_);
    if (has_loaded_[rank]) return;
    has_loaded_[rank] = true;
    if (status.ok()) {
      weight_bytes_[rank] = weight_bytes;
    } else {
      refusals_.push_back({rank, process.Text(), std::move(status)});
    }
  }
  told_.fetch_add(1, std::memory_order_release);
}

bool LoadTally::NoteLost(const cluster::Supervision::Lost& lost) {
  std::lock_guard lock(mutex_);
  if (begun_) return false;
  lost_ = Status(StatusCode::kLost, fmt::format("rank {} ({}) {}; it had not loaded the plan yet",
                                                lost.rank, lost.process.Text(), lost.how));
  return true;
}

bool LoadTally::AnyRefused() const {
  std::lock_guard lock(mutex_);
  return !refusals_.empty();
}

bool LoadTally::AnyFailed() const {
  std::lock_guard lock(mutex_);
  return !refusals_.empty() || !lost_.ok();
}

Status LoadTally::ErrorLocked() const {
  return lost_.ok() ? cluster::JoinRefusals(refusals_, "node[", "]") : lost_;
}

Status LoadTally::Error() const {
  std::lock_guard lock(mutex_);
  return ErrorLocked();
}

// An error that another rank has caused is in that rank's refusal already.
Status LoadTally::ErrorWith(Status own, const cluster::Process& process, bool interrupted) {
  std::lock_guard lock(mutex_);
  if (!interrupted || refusals_.empty()) refusals_.push_back({0, process.Text(), std::move(own)});
  return ErrorLocked();
}

Status LoadTally::Begin() {
  std::lock_guard lock(mutex_);
  Status error = ErrorLocked();
  begun_ = error.ok();
  return error;
}

bool LoadTally::begun() const {
  std::lock_guard lock(mutex_);
  return begun_;
}

std::vector<uint32_t> LoadTally::Missing() const {
  std::lock_guard lock(mutex_);
  std::vector<uint32_t> missing;
  for (uint32_t rank = 1; rank < has_loaded_.size(); ++rank) {
    if (!has_loaded_[rank]) missing.push_back(rank);
  }
  return missing;
}

std::pair<uint64_t, uint64_t> LoadTally::WeightBytesOf(uint32_t rank) const {
  std::lock_guard lock(mutex_);
  const auto found = weight_bytes_.find(rank);
  return found == weight_bytes_.end() ? std::pair<uint64_t, uint64_t>() : found->second;
}

// ---- loading the plan ---------------------------------------------------------------------------

OtherRanks::OtherRanks(const EngineOptions& options, const EngineView& engine)
    : MessageRanks(options, engine),
      others_(messenger_.count() - 1),
      buffers_(messenger_.count()),
      tally_(messenger_.count()),
      measurements_(messenger_, loaded_, engine.workers),
      last_message_ns_(messenger_.count()) {}

Status OtherRanks::Check(const plan::Plan& plan) const {
  CGRAPH_RETURN_IF_ERROR(CheckNodes(plan, peers_));
  if (options_.proved && options_.processes == 0) return Status::Ok();
  return Status(StatusCode::kUnsupported,
                "ranks of several machines run proved plans, a process for each; do not ask for "
                "unproved ones, or for more processes");
}

void OtherRanks::Deal(plan::Plan& plan) const {
  plan::DealByNode(plan, static_cast<uint32_t>(peers_.share_of_cores));
}

Status OtherRanks::Start() {
  if (messenger_.given_up()) {
    return Status(StatusCode::kUnsupported,
                  "another process is gone, or still computes for an engine that has ended; "
                  "start all of them again");
  }
  if (!messenger_.Claim()) return OthersServeAnotherEngine();
  claimed_ = true;
  for (std::atomic<int64_t>& last : last_message_ns_) last = cluster::NowNs();
  messenger_.Listen(cluster::kMachineTag, this);
  if (peers_.supervision != nullptr) {
    peers_.supervision->OnLost([this](const auto& lost) { OnLost(lost); });
  }
  if (options_.loading) options_.loading("sending the others their parts of the plan");
  SendPlan();
  return Status::Ok();
}

// Polls in between, so that no more is kept for sending than the wire has not taken.
void OtherRanks::SendPlan() {
  const uint32_t first_tag = messenger_.unused_tag();
  Join(first_tag);
  plan::NodeParts parts(*loaded_.plan);
  loaded_.totals = parts.totals();
  const SharedText shared =
      MakeSharedText(options_, first_tag, loaded_.gpus, loaded_.placement, loaded_.totals);
  for (uint32_t rank = 1; rank <= others_; ++rank) {
    SendMessage(messenger_, rank, {.kind = cluster::MachineMessage::kPlan},
                TextFor(shared, parts.Of(rank)));
    messenger_.Poll();
  }
}

void OtherRanks::SendToAll(const cluster::MachineMessage& message, std::string_view text) {
  for (uint32_t rank = 1; rank <= others_; ++rank) {
    SendMessage(messenger_, rank, message, text);
  }
}

// Once a rank has refused the plan, the others have a moment to refuse it as well.
Status OtherRanks::AwaitLoaded() {
  const std::chrono::nanoseconds patience = LoadPatience();
  auto end = Clock::now() + patience;
  bool late = false;
  std::optional<Clock::time_point> refused;
  PollUntil(messenger_, [&] {
    const auto now = Clock::now();
    // What is sent piece by piece moves.
    if (AnswerWeightQuestions()) end = now + patience;
    late = patience.count() > 0 && now > end;
    if (!refused && tally_.AnyRefused()) refused = now;
    return late || (refused && now > *refused + cluster::kMachineGrace) || messenger_.given_up() ||
           tally_.AllHaveTold();
  });
  if (!late) return tally_.Begin();
  CGRAPH_RETURN_IF_ERROR(tally_.Error());
  const std::vector<uint32_t> missing = tally_.Missing();
  return Status(StatusCode::kTimeout,
                fmt::format("{} {} not loaded the plan in {} s", peers_.NamesOf(missing),
                            missing.size() == 1 ? "has" : "have",
                            std::chrono::duration<double>(patience).count()));
}

std::pair<uint64_t, uint64_t> OtherRanks::WeightBytesOf(uint32_t rank) const {
  return rank == 0 ? Ranks::WeightBytesOf(rank) : tally_.WeightBytesOf(rank);
}

bool OtherRanks::AnswerWeightQuestions() {
  return loaded_.kernels != nullptr &&
         questions_.Answer(messenger_, *loaded_.plan, loaded_.kernels->weights());
}

Status OtherRanks::WithRefusals(Status own) {
  const auto end = Clock::now() + cluster::kMachineGrace;
  PollUntil(messenger_, [&] {
    AnswerWeightQuestions();
    return messenger_.given_up() || tally_.AllHaveTold() || Clock::now() > end;
  });
  return tally_.ErrorWith(std::move(own), peers_.ProcessOf(0), was_interrupted());
}

// ---- running it ---------------------------------------------------------------------------------

void OtherRanks::TellRound(uint32_t graph, const cluster::RoundMessage& round,
                           std::span<const int64_t> extents) {
  cluster::MachineMessage message{.kind = cluster::MachineMessage::kRound, .graph = graph};
  message.round = round;
  SendToAll(message, {reinterpret_cast<const char*>(extents.data()), extents.size_bytes()});
}

bool OtherRanks::AskStates(uint32_t rank, cluster::StateRequest& request,
                           std::span<uint8_t> piece, const std::function<bool()>& patient) {
  has_states_.store(false, std::memory_order_relaxed);
  SendMessage(messenger_, rank, {.kind = cluster::MachineMessage::kStates},
              request.ToText(piece.first(request.piece_bytes)));
  const auto answered = [&] { return has_states_.load(std::memory_order_acquire); };
  PollUntil(messenger_, [&] { return answered() || !patient(); });
  if (!answered()) return false;
  request.Read(states_, piece);
  return true;
}

void OtherRanks::GatherMeasurements() {
  if ((options_.profile || options_.trace) && IsServed()) measurements_.Ask();
}

bool OtherRanks::IsServed() const {
  return claimed_ && tally_.begun() && ended_.load(std::memory_order_acquire) == 0 &&
         !messenger_.given_up();
}

// Called by a thread of the supervision. A rank that goes before all have started is found by
// AwaitLoaded(): until then there is half an engine, which no other thread may touch.
void OtherRanks::OnLost(const cluster::Supervision::Lost& lost) {
  const bool begun = !tally_.NoteLost(lost);
  if (!Omits(WaitPoint::kGiveUp)) messenger_.GiveUp();
  if (begun) engine_.lost(lost.rank, lost.process.Text(), lost.how);
}

void OtherRanks::End() {
  if (!claimed_) return;
  GatherMeasurements();
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
  if (message.graph >= loaded_.graphs.size()) return;
  LoadedGraph& graph = *loaded_.graphs[message.graph];
  if (message.frame >= graph.frames.size()) return;
  Frame& frame = graph.frames[message.frame];
  if (message.work_queue >= frame.failures.slots.size()) return;
  // What fails while states are initialised is mostly a file, which is on that machine.
  const bool start = message.graph >= loaded_.plan->graphs.size();
  frame.failures.slots[message.work_queue].Set(
      message.failure.program_order,
      start ? fmt::format("node[{}] ({}): {}", from, peers_.ProcessOf(from).Text(), text) : text);
  frame.failures.any_set->store(true, std::memory_order_release);
}

std::optional<std::chrono::nanoseconds> OtherRanks::SilenceOf(uint32_t rank) const {
  if (rank == 0 || !claimed_) return std::nullopt;
  const std::chrono::nanoseconds silence(cluster::NowNs() -
                                         last_message_ns_[rank].load(std::memory_order_relaxed));
  return silence < kSilence ? std::nullopt : std::optional(silence);
}

std::string OtherRanks::HaltedText() const {
  if (!claimed_) return "";
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
        rank, peers_.ProcessOf(rank).Text(), loaded_.DevicesOf(rank),
        std::chrono::duration<double>(*silence).count());
  }
  if (others.empty()) return text;
  return text + fmt::format("so have {}\n", RangesText(others, "rank ", ""));
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
      tally_.Note(from, peers_.ProcessOf(from), Status(message.code, std::string(text)),
                  {message.loaded.weight_bytes_read, message.loaded.weight_bytes_sent});
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
    case cluster::MachineMessage::kTimings:
    case cluster::MachineMessage::kTrace:
    case cluster::MachineMessage::kMeasured:
      measurements_.OnMessage(from, message, text);
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
