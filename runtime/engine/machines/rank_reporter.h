// RankReporter: a rank other than the first of an engine of several machines, towards rank 0. It
// hears the rounds that rank 0 submits, and reports what its work queues have finished, which
// executions have failed and, when it is asked, what it has measured and what its actors keep.
// other_ranks.h is the other side.
#ifndef CGRAPH_RUNTIME_ENGINE_MACHINES_RANK_REPORTER_H_
#define CGRAPH_RUNTIME_ENGINE_MACHINES_RANK_REPORTER_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/cluster/agreement.h"
#include "runtime/cluster/message.h"
#include "runtime/cluster/messenger.h"
#include "runtime/cluster/state_request.h"
#include "runtime/engine/machines/engine_view.h"
#include "runtime/engine/machines/sent_weights.h"

namespace cgraph::engine {

class RankReporter {
 public:
  // `agreement`: what ranks agree on while they load the plan; gets the messages about it.
  // `weights`: the numbers in the whole plan of the slices of weights in this rank's part.
  RankReporter(const EngineView& engine, cluster::Messenger& messenger,
               cluster::Agreement& agreement, std::vector<uint32_t> weights);

  // Hears a message of rank 0. Sends nothing: SendAnswers() does that.
  void Dispatch(std::span<const std::byte> message);
  void SendAnswers();

  // Reports that the plan is loaded, or why not, and how many bytes of weights came from where.
  void ReportLoaded(const Status& status, uint64_t read_bytes, uint64_t sent_bytes);
  // Reports an execution's failures before the progress that ends it. `positions`: also where work
  // queues are that have finished nothing, which takes a look at the clock.
  void ReportProgress(bool positions);
  void ReportAlive();

  // What rank 0 asks about states, which the worker's thread answers: `answer` replaces request and
  // piece by the answer.
  bool IsAskedStates() const { return asked_states_.load(std::memory_order_seq_cst); }
  void AnswerStates(
      const std::function<void(cluster::StateRequest&, std::span<uint8_t> piece)>& answer);

  // Rank 0, of which this rank asks weights.
  FirstRank& first_rank() { return first_rank_; }

 private:
  // What was reported of a work queue last.
  struct Reported {
    uint64_t done = 0, at = 0, failures = 0;
    // Of failures, by graph and frame.
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> versions;
    std::chrono::steady_clock::time_point when, heads_when;
    bool heads = false;  // some were told of
  };
  void ReportFailures(uint32_t work_queue);
  void ReportHeads(uint32_t work_queue);
  void SendMeasurements();

  const EngineView& engine_;
  cluster::Messenger& messenger_;
  cluster::Agreement& agreement_;
  AskedFirstRank first_rank_;
  std::mutex report_mutex_;                                       // of the next
  std::vector<Reported> reported_;                                // by work queue
  std::atomic<uint32_t> asked_clock_{0}, asked_measurements_{0};  // questions; 0: none
  std::string states_;                     // the question about states
  std::atomic<bool> asked_states_{false};  // it is there
  std::vector<uint8_t> states_piece_;      // of it, and of the answer
  std::vector<size_t> traced_;  // by work queue: steps that were sent
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_MACHINES_RANK_REPORTER_H_
