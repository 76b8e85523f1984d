#include "runtime/engine/ranks/told_measurements.h"

#include <chrono>
#include <cstring>
#include <span>
#include <string>

namespace cgraph::engine {

using cluster::MachineMessage;

// ---- rank 0 -------------------------------------------------------------------------------------

void MeasurementQuestions::Ask() {
  std::lock_guard lock(mutex_);
  AlignClocks();
  AskAll(MachineMessage::kMeasure);
}

// Of several round trips to a rank the shortest counts: it says best what time it is there.
void MeasurementQuestions::AlignClocks() {
  constexpr int kTimes = 10;
  for (int i = 0; i < kTimes; ++i) {
    asked_ns_.store(cluster::NowNs(), std::memory_order_relaxed);
    if (!AskAll(MachineMessage::kClock)) return;
  }
}

// Returns whether all have answered in time.
bool MeasurementQuestions::AskAll(MachineMessage::Kind kind) {
  using Clock = std::chrono::steady_clock;
  const auto question = static_cast<uint32_t>((answers_.load() >> 32) + 1);
  const uint64_t none = uint64_t{question} << 32;
  answers_.store(none);
  for (uint32_t rank = 1; rank < messenger_.count(); ++rank) {
    SendMessage(messenger_, rank, {.kind = kind, .question = question});
  }
  const auto end = Clock::now() + cluster::kMachineGrace;
  const auto all = [&] {
    return answers_.load(std::memory_order_acquire) - none + 1 == messenger_.count();
  };
  PollUntil(messenger_, [&] { return all() || messenger_.given_up() || Clock::now() > end; });
  return all();
}

void MeasurementQuestions::OnMessage(uint32_t from, const MachineMessage& message,
                                     std::string_view text) {
  if (message.kind == MachineMessage::kClock) return OnClock(from, message);
  if (message.kind == MachineMessage::kTimings) return OnTimings(message, text);
  if (message.kind == MachineMessage::kTrace) return OnTrace(from, message, text);
  CountAnswer(message.question);
}

// Does not count a late answer, to a question before.
void MeasurementQuestions::CountAnswer(uint32_t question) {
  uint64_t seen = answers_.load();
  while (question == seen >> 32 &&
         !answers_.compare_exchange_weak(seen, seen + 1, std::memory_order_release)) {
  }
}

void MeasurementQuestions::OnClock(uint32_t from, const MachineMessage& message) {
  if (IsLate(message.question)) return;
  const int64_t asked = asked_ns_.load(std::memory_order_relaxed),
                round_trip = cluster::NowNs() - asked;
  if (round_trip < clocks_[from].round_trip_ns) {
    clocks_[from] = {message.clock.now_ns - (asked + round_trip / 2), round_trip};
  }
  CountAnswer(message.question);
}

void MeasurementQuestions::OnTimings(const MachineMessage& message, std::string_view text) {
  if (message.graph >= loaded_.graphs.size()) return;
  std::vector<StepList>& programs = loaded_.graphs[message.graph]->programs;
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

void MeasurementQuestions::OnTrace(uint32_t from, const MachineMessage& message,
                                   std::string_view text) {
  if (message.work_queue >= workers_.work_queues.size()) return;
  const auto offset = static_cast<uint64_t>(clocks_[from].offset_ns);
  for (; text.size() >= sizeof(TracedStep); text.remove_prefix(sizeof(TracedStep))) {
    TracedStep traced;
    std::memcpy(&traced, text.data(), sizeof(traced));
    traced.start_ns -= offset;
    traced.end_ns -= offset;
    const bool known =
        traced.graph < loaded_.graphs.size() &&
        traced.step < loaded_.graphs[traced.graph]->programs[message.work_queue].steps.size();
    if (known) workers_.work_queues[message.work_queue]->tracer().log().Append(traced);
  }
}

// ---- the others ---------------------------------------------------------------------------------

void MeasurementAnswers::OnMessage(const MachineMessage& message) {
  auto& asked = message.kind == MachineMessage::kClock ? asked_clock_ : asked_measurements_;
  asked.store(message.question, std::memory_order_release);
}

void MeasurementAnswers::Send() {
  if (const uint32_t question = asked_clock_.exchange(0, std::memory_order_acquire)) {
    MachineMessage message{.kind = MachineMessage::kClock, .question = question};
    message.clock = {cluster::NowNs()};
    SendMessage(messenger_, 0, message);
  }
  if (const uint32_t question = asked_measurements_.exchange(0, std::memory_order_acquire)) {
    SendMeasurements();
    SendMessage(messenger_, 0, {.kind = MachineMessage::kMeasured, .question = question});
  }
}

void MeasurementAnswers::SendMeasurements() {
  traced_.resize(workers_.work_queues.size());
  for (uint32_t w = 0; w < traced_.size(); ++w) {
    if (!loaded_.HasWorkQueue(w)) continue;
    for (uint32_t g = 0; g < loaded_.graphs.size(); ++g) {
      std::string text;
      for (const Timing& timing : loaded_.graphs[g]->programs[w].timings) {
        const cluster::TimedStep timed{timing.ns.load(std::memory_order_relaxed),
                                       timing.count.load(std::memory_order_relaxed)};
        text.append(reinterpret_cast<const char*>(&timed), sizeof(timed));
      }
      if (text.empty()) continue;
      SendMessage(messenger_, 0,
                  {.kind = MachineMessage::kTimings, .graph = g, .work_queue = w}, text);
    }
    const TraceLog& log = workers_.work_queues[w]->tracer().log();
    std::string text;
    for (const size_t size = log.size(); traced_[w] < size; ++traced_[w]) {
      text.append(reinterpret_cast<const char*>(&log[traced_[w]]), sizeof(TracedStep));
    }
    if (!text.empty()) {
      SendMessage(messenger_, 0, {.kind = MachineMessage::kTrace, .work_queue = w}, text);
    }
  }
}

}  // namespace cgraph::engine
