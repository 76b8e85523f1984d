// RankReporter: rank 0 of an engine of several machines, as another rank has it. It hears the
// rounds that rank 0 submits. It reports what its rank's work queues have finished, which
// executions have failed and, when rank 0 asks, what was measured and what actors keep.
// other_ranks.h is the other side.
#ifndef CGRAPH_RUNTIME_ENGINE_RANKS_RANK_REPORTER_H_
#define CGRAPH_RUNTIME_ENGINE_RANKS_RANK_REPORTER_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/engine/ranks/message_ranks.h"
#include "runtime/engine/ranks/sent_weights.h"
#include "runtime/engine/ranks/told_measurements.h"

namespace cgraph::engine {

class RankReporter final : public MessageRanks {
 public:
  // `first_tag`: as MessageRanks::Join() gets it. `weights`: the numbers in the whole plan of the
  // slices of weights in this rank's part.
  RankReporter(const EngineOptions& options, const EngineView& engine, uint32_t first_tag,
               std::vector<uint32_t> weights);

  // Hears a message of rank 0. Sends nothing: SendAnswers() does that.
  void Dispatch(std::span<const std::byte> message);

  void TakePlace() override {
    MessageRanks::TakePlace();
    Join(first_tag_);
  }
  LoadContext Context() override;
  void ReportLoaded(const Status& status) override;
  bool IsAskedStates() const override { return asked_states_.load(std::memory_order_seq_cst); }
  void AnswerStates(const StateAnswer& answer) override;

 private:
  // What was reported of a work queue last.
  struct Reported {
    uint64_t done = 0, at = 0, failures = 0;
    // Of failures, by graph and frame.
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> versions;
    std::chrono::steady_clock::time_point when, heads_when;
    bool heads = false;  // the last report of heads had some
  };

  // Reports an execution's failures before the progress that ends it. `positions`: reports also the
  // positions of work queues that have finished nothing, for which it reads the clock.
  void Report(bool positions) override;
  void SendAnswers() override { measurements_.Send(); }
  void ReportAlive() override;
  void ReportFailures(uint32_t work_queue);
  void ReportHeads(uint32_t work_queue);

  const uint32_t first_tag_;
  AskedFirstRank first_rank_;  // as this rank asks it for weights
  MeasurementAnswers measurements_;
  std::mutex report_mutex_;                // of the next
  std::vector<Reported> reported_;         // by work queue
  std::string states_;                     // the question about states
  std::atomic<bool> asked_states_{false};  // it is there
  std::vector<uint8_t> states_piece_;      // of it, and of the answer
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_RANKS_RANK_REPORTER_H_
