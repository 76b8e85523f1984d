// What other machines have measured: rank 0 asks, and the others answer. Their times become those
// of rank 0's clock.
#ifndef CGRAPH_RUNTIME_ENGINE_RANKS_TOLD_MEASUREMENTS_H_
#define CGRAPH_RUNTIME_ENGINE_RANKS_TOLD_MEASUREMENTS_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

#include "runtime/cluster/message.h"
#include "runtime/cluster/messenger.h"
#include "runtime/execute/workers.h"
#include "runtime/load/loaded_plan.h"

namespace cgraph::engine {

// MeasurementQuestions: rank 0's side. It asks, and makes times of calls and steps of traces of the
// answers.
class MeasurementQuestions {
 public:
  MeasurementQuestions(cluster::Messenger& messenger, LoadedPlan& loaded, const Workers& workers)
      : messenger_(messenger), loaded_(loaded), workers_(workers), clocks_(messenger.count()) {}

  // Asks all ranks and waits for their answers; leaves out those that do not come in time.
  void Ask();
  // Takes an answer.
  void OnMessage(uint32_t from, const cluster::MachineMessage& message, std::string_view text);

 private:
  struct OtherClock {
    int64_t offset_ns = 0;              // of it against this rank's
    int64_t round_trip_ns = INT64_MAX;  // in which that was measured: half of it is the error
  };
  void AlignClocks();
  bool AskAll(cluster::MachineMessage::Kind kind);
  // Returns whether an answer is to a question before the last one.
  bool IsLate(uint32_t question) const { return question != answers_.load() >> 32; }
  void CountAnswer(uint32_t question);
  void OnClock(uint32_t from, const cluster::MachineMessage& message);
  void OnTimings(const cluster::MachineMessage& message, std::string_view text);
  void OnTrace(uint32_t from, const cluster::MachineMessage& message, std::string_view text);

  cluster::Messenger& messenger_;
  LoadedPlan& loaded_;
  const Workers& workers_;
  std::mutex mutex_;                  // held while Ask() runs
  std::vector<OtherClock> clocks_;    // by rank
  std::atomic<int64_t> asked_ns_{0};  // when the last question was asked
  std::atomic<uint64_t> answers_{0};  // the number of that, times 2^32, and how many have answered
};

// MeasurementAnswers: another rank's side. A thread that hears a question must not send, so Send()
// answers it later.
class MeasurementAnswers {
 public:
  MeasurementAnswers(cluster::Messenger& messenger, const LoadedPlan& loaded,
                     const Workers& workers)
      : messenger_(messenger), loaded_(loaded), workers_(workers) {}

  // Notes a question of rank 0.
  void OnMessage(const cluster::MachineMessage& message);
  void Send();

 private:
  void SendMeasurements();

  cluster::Messenger& messenger_;
  const LoadedPlan& loaded_;
  const Workers& workers_;
  std::atomic<uint32_t> asked_clock_{0}, asked_measurements_{0};  // questions; 0: none
  std::vector<size_t> traced_;  // by work queue: steps that were sent
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_RANKS_TOLD_MEASUREMENTS_H_
