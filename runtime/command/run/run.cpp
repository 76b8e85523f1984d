// Submits executions until `inflight` of them are in progress, then waits for the oldest.
#include "runtime/command/phases.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <deque>
#include <mutex>

#include <fmt/format.h>

#include "runtime/command/messages.h"
#include "runtime/command/run/calls.h"

namespace cgraph::command {
namespace {

// Shows on a terminal how far a run is, once it takes long.
class Progress {
 public:
  Progress(uint64_t total, bool quiet) : total_(total), on_(!quiet && isatty(STDERR_FILENO)) {}
  ~Progress() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }
  void Update(uint64_t done) {
    constexpr auto kPatience = std::chrono::seconds(1);
    constexpr auto kInterval = std::chrono::milliseconds(100);
    if (!on_) return;
    const Clock::time_point now = Clock::now();
    if (now - start_ < kPatience || now - last_ < kInterval) return;
    last_ = now;
    shown_ = true;
    constexpr uint64_t kWidth = 30;
    const auto filled =
        static_cast<size_t>(kWidth * static_cast<double>(done) / static_cast<double>(total_));
    const std::string bar =
        fmt::format("\r[{:<{}}] {}/{}", std::string(filled, '#'), kWidth, done, total_);
    std::fputs(bar.c_str(), stderr);
  }

 private:
  const uint64_t total_;
  const bool on_;
  bool shown_ = false;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
};

class Runner {
 public:
  Runner(Engine& engine, uint32_t graph, Inputs& inputs, Training& training,
         const Options& options, Outcome& outcome)
      : engine_(engine),
        graph_(graph),
        inputs_(inputs),
        training_(training),
        options_(options),
        outcome_(outcome) {
    inflight_ = engine.plan().graphs[graph]->inflight;
    if (options.engine.inflight > 0) inflight_ = std::min(inflight_, options.engine.inflight);
  }

  void Run() {
    total_ = training_.total();
    outcome_.measurements.wanted = total_ - training_.first();
    Status status = Pass(0, options_.warmup, false);
    const Clock::time_point start = Clock::now();
    const bool warm = status.ok();
    if (warm) {
      if (options_.warmup > 0) engine_.ForgetMeasurements();
      training_.Begin(engine_, options_, outcome_);
      status = Pass(training_.first(), total_, true);
      training_.Finish(training_.first() + outcome_.measurements.executions);
    }
    std::lock_guard lock(outcome_.mutex);
    if (warm) outcome_.measurements.wall_ns = NsSince(start);
    outcome_.status = std::move(status);
    outcome_.over = true;
  }

 private:
  struct Pending {
    Execution execution;
    uint64_t index;
    Clock::time_point start;
  };

  // Makes the executions from `first` to before `end`.
  Status Pass(uint64_t first, uint64_t end, bool measured) {
    // Lines of a log say as much, and would stand behind it.
    const bool has_lines = !options_.training.log.empty() || !options_.training.eval.empty();
    Progress progress(end, options_.quiet || !measured || has_lines);
    for (uint64_t i = first; i < end; ++i) {
      if (pending_.size() >= inflight_) CGRAPH_RETURN_IF_ERROR(Finish(measured));
      if (training_.stopped()) break;
      const Clock::time_point start = Clock::now();
      const auto inputs = inputs_.Slice(i);
      if (!inputs.ok()) return inputs.status();
      Result<Execution> execution = engine_.Execute(graph_, *inputs);
      if (!execution.ok()) return execution.status();
      pending_.push_back({std::move(*execution), i, start});
      if (measured) CountBegun();
      progress.Update(i);
      if (measured && training_.IsSaveOrEvaluationDue(i + 1)) {
        CGRAPH_RETURN_IF_ERROR(FinishAll(measured));
        CGRAPH_RETURN_IF_ERROR(training_.SaveAndEvaluate(i + 1));
      }
    }
    return FinishAll(measured);
  }

  Status FinishAll(bool measured) {
    while (!pending_.empty()) CGRAPH_RETURN_IF_ERROR(Finish(measured));
    return Status::Ok();
  }

  void CountBegun() {
    std::lock_guard lock(outcome_.mutex);
    ++outcome_.measurements.begun;
  }

  // Waits for the oldest execution.
  Status Finish(bool measured) {
    Pending oldest = std::move(pending_.front());
    pending_.pop_front();
    Result<Outputs> outputs = oldest.execution.Get();
    if (!measured) {
      return outputs.ok() ? Status::Ok() : BeforeMeasured(outputs.status(), oldest.index);
    }
    const uint64_t latency = NsSince(oldest.start);
    if (!outputs.ok() && outputs.status().code() != StatusCode::kFailed) return outputs.status();
    std::lock_guard lock(outcome_.mutex);
    Measurements& measurements = outcome_.measurements;
    ++measurements.executions;
    if (!outputs.ok()) {
      measurements.AddFailure(outputs.status().message(), oldest.index + 1);
      return Tolerated(outputs.status(), oldest.index);
    }
    measurements.latencies.Add(latency);
    training_.AddToLog(oldest.index + 1, *outputs);
    const bool kept = options_.every || oldest.index + inputs_.executions() >= total_;
    return kept ? outcome_.results.Add(*outputs) : Status::Ok();
  }

  // An execution that fails before anything is measured ends the run, since no count would include
  // it.
  Status BeforeMeasured(const Status& status, uint64_t index) const {
    return {status.code(), fmt::format("{}\nin execution {} of {} before those that are measured",
                                       status.message(), index + 1, options_.warmup)};
  }

  // One failed execution of several does not end the run, unless its outputs leave a gap.
  Status Tolerated(const Status& status, uint64_t index) const {
    if (status.code() != StatusCode::kFailed) return status;
    if (inputs_.is_batched()) {
      return {status.code(),
              fmt::format("{}\nin slice {} of {}", status.message(),
                          index % inputs_.executions() + 1, inputs_.executions())};
    }
    if (options_.every) {
      return {status.code(), fmt::format("{}\nin execution {} of {}; --every leaves no gap",
                                         status.message(), index + 1, total_)};
    }
    if (options_.training.any()) {
      return {status.code(),
              fmt::format("{}\nin execution {} of {}", status.message(), index + 1, total_)};
    }
    return options_.repeat > 1 ? Status::Ok() : status;
  }

  Engine& engine_;
  const uint32_t graph_;
  Inputs& inputs_;
  Training& training_;
  const Options& options_;
  Outcome& outcome_;
  uint32_t inflight_ = 1;
  uint64_t total_ = 0;
  std::deque<Pending> pending_;
};

}  // namespace

void Run(Engine& engine, uint32_t graph, Inputs& inputs, Training& training, const Options& options,
         Outcome& outcome) {
  Runner(engine, graph, inputs, training, options, outcome).Run();
}

}  // namespace cgraph::command
