#include "runtime/engine/ranks/rank_reporter.h"

#include <mutex>
#include <string_view>

#include "runtime/base/wait_point.h"

namespace cgraph::engine {
namespace {

using Clock = std::chrono::steady_clock;

// How often a work queue's position is sent while it finishes nothing; time-out reports show it.
constexpr auto kPositionInterval = std::chrono::milliseconds(20);

}  // namespace

RankReporter::RankReporter(const EngineOptions& options, const EngineView& engine,
                           uint32_t first_tag, std::vector<uint32_t> weights)
    : MessageRanks(options, engine),
      first_tag_(first_tag),
      first_rank_(
          messenger_, std::move(weights), [this] { return ending_.has_ended(); }, LoadPatience()),
      measurements_(messenger_, loaded_, engine.workers) {}

LoadContext RankReporter::Context() {
  LoadContext context = MessageRanks::Context();
  context.ask_first_rank = std::bind_front(&AskedFirstRank::Ask, &first_rank_);
  return context;
}

void RankReporter::Dispatch(std::span<const std::byte> bytes) {
  const auto [message, text] = cluster::ReadMessage(bytes);
  switch (message.kind) {
    case cluster::MachineMessage::kWeights:
      first_rank_.OnAnswer(message, text);
      break;
    case cluster::MachineMessage::kAgree:
      agreement_.OnMessage(0, text);
      break;
    case cluster::MachineMessage::kRound:
      engine_.rounds.Accept(message.graph, message.round, text);
      break;
    case cluster::MachineMessage::kClock:
    case cluster::MachineMessage::kMeasure:
      measurements_.OnMessage(message);
      break;
    case cluster::MachineMessage::kForget:
      engine_.forget();
      break;
    case cluster::MachineMessage::kStates:
      states_ = text;
      asked_states_.store(true, std::memory_order_seq_cst);
      break;
    case cluster::MachineMessage::kEnd:
      ending_.End(Status(StatusCode::kClosed, "rank 0 has ended the engine"));
      break;
    // These come while there is no engine, or go to rank 0.
    case cluster::MachineMessage::kNone:
    case cluster::MachineMessage::kGpus:
    case cluster::MachineMessage::kDescribe:
    case cluster::MachineMessage::kPlan:
    case cluster::MachineMessage::kAskWeights:
    case cluster::MachineMessage::kLoaded:
    case cluster::MachineMessage::kProgress:
    case cluster::MachineMessage::kFailure:
    case cluster::MachineMessage::kHeads:
    case cluster::MachineMessage::kDeviceFailed:
    case cluster::MachineMessage::kAlive:
    case cluster::MachineMessage::kTimings:
    case cluster::MachineMessage::kTrace:
    case cluster::MachineMessage::kMeasured:
    case cluster::MachineMessage::kEnded:
    case cluster::MachineMessage::kQuit:
      break;
  }
}

void RankReporter::ReportLoaded(const Status& status) {
  cluster::MachineMessage message{.kind = cluster::MachineMessage::kLoaded, .code = status.code()};
  const auto [read_bytes, sent_bytes] = WeightBytesOf(loaded_.rank);
  message.loaded = {read_bytes, sent_bytes};
  SendMessage(messenger_, 0, message, status.message());
}

void RankReporter::ReportAlive() {
  SendMessage(messenger_, 0, {.kind = cluster::MachineMessage::kAlive});
}

void RankReporter::AnswerStates(const StateAnswer& answer) {
  cluster::StateRequest request;
  states_piece_.resize(cluster::StateRequest::kMostBytes);
  const std::span<uint8_t> piece(states_piece_);
  request.Read(states_, piece);
  asked_states_.store(false, std::memory_order_relaxed);
  answer(request, piece);
  SendMessage(messenger_, 0, {.kind = cluster::MachineMessage::kStates},
              request.ToText(piece.first(request.piece_bytes)));
}

void RankReporter::Report(bool positions) {
  std::unique_lock lock(report_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  reported_.resize(engine_.workers.work_queues.size());
  for (uint32_t w = 0; w < reported_.size(); ++w) {
    if (!loaded_.HasWorkQueue(w)) continue;
    const WorkQueue& work_queue = *engine_.workers.work_queues[w];
    const EntryInbox::Progress progress = work_queue.inbox().progress();
    Reported& reported = reported_[w];
    if (const uint64_t failures = work_queue.failures();
        failures != reported.failures && !Omits(WaitPoint::kTellFailure)) {
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
    cluster::MachineMessage message{.kind = cluster::MachineMessage::kProgress, .work_queue = w};
    message.progress = {progress.done, progress.at, progress.round};
    SendMessage(messenger_, 0, message);
  }
}

// Reports where the work queue's queues are, while something that was issued to them is not over.
// The position of the work queue itself says nothing then: it has issued everything.
void RankReporter::ReportHeads(uint32_t work_queue) {
  if (engine_.workers.work_queues[work_queue]->queues().empty()) return;
  std::unique_lock queues(engine_.workers.closing, std::try_to_lock);
  if (!queues.owns_lock()) return;  // they are being closed
  const WorkQueue& from = *engine_.workers.work_queues[work_queue];
  Reported& reported = reported_[work_queue];
  const bool pending = from.inbox().pending();
  const auto now = Clock::now();
  if (!pending && !reported.heads) return;
  if (pending && now - reported.heads_when < kPositionInterval) return;
  reported.heads_when = now;
  std::vector<device::Head> heads;
  if (pending) heads = from.queues().Heads();
  reported.heads = !heads.empty();
  SendMessage(messenger_, 0, {.kind = cluster::MachineMessage::kHeads, .work_queue = work_queue},
              {reinterpret_cast<const char*>(heads.data()), heads.size() * sizeof(heads[0])});
}

// Reports the failures that the work queue has noted since the last time; before them that of a
// device, whose consequence they may be.
void RankReporter::ReportFailures(uint32_t work_queue) {
  for (const auto& device : loaded_.devices) {
    const Status failure = device->Failure();
    if (failure.ok()) continue;
    SendMessage(messenger_, 0,
                {.kind = cluster::MachineMessage::kDeviceFailed, .code = failure.code()},
                failure.message());
  }
  for (uint32_t g = 0; g < loaded_.graphs.size(); ++g) {
    std::vector<Frame>& frames = loaded_.graphs[g]->frames;
    for (uint32_t f = 0; f < frames.size(); ++f) {
      const FailureSlot& slot = frames[f].failures.slots[work_queue];
      uint64_t& reported = reported_[work_queue].versions[{g, f}];
      const auto failure = slot.Get();
      if (!failure || reported == failure->version) continue;
      reported = failure->version;
      cluster::MachineMessage message{.kind = cluster::MachineMessage::kFailure,
                                      .graph = g,
                                      .frame = f,
                                      .work_queue = work_queue};
      message.failure = {failure->program_order};
      SendMessage(messenger_, 0, message, failure->text);
    }
  }
}

}  // namespace cgraph::engine
