// A trial: one seed's engine, run to its end by a scheduler, and what was wrong.
#ifndef CGRAPH_TESTS_SIMULATION_TRIAL_H_
#define CGRAPH_TESTS_SIMULATION_TRIAL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/wait_point.h"
#include "tests/simulation/network.h"

namespace cgraph::simulation {

struct Death {
  uint32_t rank = 1;
  uint64_t point = 0;  // of that rank: it does nothing any more
};

// What is wrong on purpose.
struct Fault {
  Omitted omitted;
  WireFault wire = WireFault::kNone;
  bool loses_wake = false;  // a futex's wake-up
};

struct TrialOptions {
  uint64_t seed = 1;
  std::optional<Death> death;
  Fault fault;
  size_t turns = 60;  // of the schedule, in `wrong`
};

struct TrialResult {
  std::string wrong;             // empty: nothing
  std::vector<uint64_t> points;  // by rank
  std::vector<uint64_t> loaded;  // the same when the plan was loaded
  uint64_t digest = 0;           // of the schedule
  int64_t ns = 0;                // that it took, by its clock
  uint64_t compared = 0;         // results, and errors, that were as the oracle says
};

// One rank with several workers, and callers on several threads.
TrialResult TryWorkers(const TrialOptions& options);
// Several ranks that share no memory.
TrialResult TryMachines(const TrialOptions& options);

}  // namespace cgraph::simulation

#endif  // CGRAPH_TESTS_SIMULATION_TRIAL_H_
