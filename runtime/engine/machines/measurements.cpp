// Brings what other machines have measured to rank 0, with times of its clock.
#include <chrono>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>

#include "runtime/cluster/message.h"
#include "runtime/engine/machines/other_ranks.h"
#include "runtime/engine/machines/rank_reporter.h"

namespace cgraph::engine {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

// ---- rank 0 -------------------------------------------------------------------------------------

// Of several round trips to a rank the shortest counts: it says best what time it is there.
void OtherRanks::AlignClocks() {
  constexpr int kTimes = 10;
  for (int i = 0; i < kTimes; ++i) {
    asked_ns_.store(cluster::NowNs(), std::memory_order_relaxed);
    if (!AskAll(cluster::MachineMessage::kClock)) return;
  }
}

void OtherRanks::OnClock(uint32_t from, const cluster::MachineMessage& message) {
  if (message.question != question_.load(std::memory_order_relaxed)) return;  // a late answer
  const int64_t asked = asked_ns_.load(std::memory_order_relaxed),
                round_trip = cluster::NowNs() - asked;
  if (round_trip < clocks_[from].round_trip_ns) {
    clocks_[from] = {message.clock.now_ns - (asked + round_trip / 2), round_trip};
  }
  answers_.fetch_add(1, std::memory_order_release);
}

// Returns whether all have answered in time.
bool OtherRanks::AskAll(cluster::MachineMessage::Kind kind) {
  answers_.store(0, std::memory_order_relaxed);
  const uint32_t question = question_.load(std::memory_order_relaxed) + 1;
  question_.store(question, std::memory_order_relaxed);
  SendToAll({.kind = kind, .question = question});
  const auto end = Clock::now() + cluster::kMachineGrace;
  const auto all = [&] { return answers_.load(std::memory_order_acquire) == others_; };
  PollUntil(messenger_, [&] { return all() || messenger_.given_up() || Clock::now() > end; });
  return all();
}

void OtherRanks::GatherMeasurements() {
  std::lock_guard lock(gather_mutex_);
  {
    std::lock_guard state(mutex_);
    if (!started_ || ended_.load(std::memory_order_acquire) != 0) return;
  }
  if (messenger_.given_up()) return;
  AlignClocks();
  AskAll(cluster::MachineMessage::kMeasure);
}

void OtherRanks::ForgetMeasurements() { SendToAll({.kind = cluster::MachineMessage::kForget}); }

void OtherRanks::OnTimings(const cluster::MachineMessage& message, std::string_view text) {
  if (message.graph >= engine_.loaded.graphs.size()) return;
  std::vector<StepList>& programs = engine_.loaded.graphs[message.graph]->programs;
  if (message.work_queue >= programs.size()) return;
  const std::span<Timing> timings = programs[message.work_queue].timings;
  for (size_t i = 0; i < timings.size() && text.size() >= (i + 1) * sizeof(cluster::TimedStep);
       ++i) {
    cluster::TimedStep timed;
    std::memcpy(&timed, text.data() + i * sizeof(timed), sizeof(timed));
    timings[i].ns.store(timed.ns, std::memory_order_relaxed);
    timings[i].count.store(timed.count, std::memory_order_relaxed);
  }
}

void OtherRanks::OnTrace(uint32_t from, const cluster::MachineMessage& message,
                         std::string_view text) {
  if (message.work_queue >= engine_.workers.work_queues.size()) return;
  const auto offset = static_cast<uint64_t>(clocks_[from].offset_ns);
  for (; text.size() >= sizeof(TracedStep); text.remove_prefix(sizeof(TracedStep))) {
    TracedStep traced;
    std::memcpy(&traced, text.data(), sizeof(traced));
    traced.start_ns -= offset;
    traced.end_ns -= offset;
    const bool known = traced.graph < engine_.loaded.graphs.size() &&
                       traced.step < engine_.loaded.graphs[traced.graph]
                                         ->programs[message.work_queue].steps.size();
    if (known) engine_.workers.work_queues[message.work_queue]->tracer().log().Append(traced);
  }
}

// ---- the others ---------------------------------------------------------------------------------

// Answers what rank 0 has asked: whoever hears a question must not send.
void RankReporter::SendAnswers() {
  if (const uint32_t question = asked_clock_.exchange(0, std::memory_order_acquire)) {
    cluster::MachineMessage message{.kind = cluster::MachineMessage::kClock, .question = question};
    message.clock = {cluster::NowNs()};
    SendMessage(messenger_, 0, message);
  }
  if (const uint32_t question = asked_measurements_.exchange(0, std::memory_order_acquire)) {
    SendMeasurements();
    SendMessage(messenger_, 0, {.kind = cluster::MachineMessage::kMeasured, .question = question});
  }
}

void RankReporter::SendMeasurements() {
  traced_.resize(engine_.workers.work_queues.size());
  for (uint32_t w = 0; w < traced_.size(); ++w) {
    if (!engine_.loaded.HasWorkQueue(w)) continue;
    for (uint32_t g = 0; g < engine_.loaded.graphs.size(); ++g) {
      std::string text;
      for (const Timing& timing : engine_.loaded.graphs[g]->programs[w].timings) {
        const cluster::TimedStep timed{timing.ns.load(std::memory_order_relaxed),
                              timing.count.load(std::memory_order_relaxed)};
        text.append(reinterpret_cast<const char*>(&timed), sizeof(timed));
      }
      if (text.empty()) continue;
      SendMessage(messenger_, 0,
           {.kind = cluster::MachineMessage::kTimings, .graph = g, .work_queue = w}, text);
    }
    const TraceLog& log = engine_.workers.work_queues[w]->tracer().log();
    std::string text;
    for (const size_t size = log.size(); traced_[w] < size; ++traced_[w]) {
      text.append(reinterpret_cast<const char*>(&log[traced_[w]]), sizeof(TracedStep));
    }
    if (!text.empty()) {
      SendMessage(messenger_, 0, {.kind = cluster::MachineMessage::kTrace, .work_queue = w}, text);
    }
  }
}

}  // namespace cgraph::engine
