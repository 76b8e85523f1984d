// Outcome: the measurements and results of a run, and why it ended early if it did.
#ifndef CGRAPH_RUNTIME_COMMAND_OUTCOME_OUTCOME_H_
#define CGRAPH_RUNTIME_COMMAND_OUTCOME_OUTCOME_H_

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "runtime/base/status.h"
#include "runtime/command/outcome/latencies.h"
#include "runtime/command/outcome/results.h"
#include "runtime/engine/states/saved_states.h"

namespace cgraph::command {

// A message that executions failed with.
struct Failure {
  std::string message;
  uint64_t count = 0;
  uint64_t first = 0;  // the execution, from 1
};

// Measurements of the executions after the warm-up.
struct Measurements {
  uint64_t wanted = 0, begun = 0;           // executions that were asked for; that were submitted
  uint64_t executions = 0, errors = 0;      // those that are over; those of them that have failed
  Latencies latencies;                      // of those without an error, from submission to result
  uint64_t wall_ns = 0;
  // The first kMessages different messages in order of appearance; `other_failures` executions had
  // others.
  std::vector<Failure> failures;
  uint64_t other_failures = 0;

  static constexpr size_t kMessages = 16;
  void AddFailure(const std::string& message, uint64_t execution);
  uint64_t lost() const { return begun - executions; }  // once the run is over
  double per_second() const { return wall_ns == 0 ? 0 : 1e9 * executions / wall_ns; }
};

// The outcome of a run. `mutex` guards it: when a time-out ends a run whose own thread is inside a
// kernel, another thread concludes from what is here.
struct Outcome {
  // `slices`: the executions of a pass over the inputs.
  Outcome(Keep keep, uint64_t slices) : results(keep, slices) {}

  std::mutex mutex;
  bool over = false;  // the thread that ran it concludes
  Status status;      // why the run ended early; a failed execution of several is only counted
  Measurements measurements;
  Results results;    // the outputs of the last pass, or of all executions
  // Executions that were made, by runs before, too; and after how many --save-every has written
  // states, 0: it has not.
  uint64_t made = 0, saved = 0;
  struct RoundsMade {
    uint64_t made = 0;
    bool done = false;
  };
  std::optional<RoundsMade> rounds;  // of a graph that repeats
  StatesMetadata states_metadata;  // of states that are saved when the run is over
};

// Says of a run that has ended early which of its executions are complete and which are lost, as
// "37 of 100 executions are complete, the next 2 are lost", or how many rounds are over; "" of a
// run of one execution.
std::string EndedEarlyText(const Outcome& outcome);
// Returns a rate with three digits at least, as 2.44 or 15538.
std::string RateText(double per_second);
// "29 executions, 0 errors, 1.2 s, ...".
std::string SummaryText(const Measurements& measurements);
nlohmann::ordered_json SummaryJson(const Measurements& measurements);

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_OUTCOME_OUTCOME_H_
