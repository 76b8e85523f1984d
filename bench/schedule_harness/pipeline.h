// A pipeline of a model's stages as a program: forward, input gradient and weight gradient of every
// stage and micro-batch, compiled, scheduled, proved and simulated like any other.
//
// A forward keeps two tensors, one for either gradient, so that memory falls as the gradients are
// made: by M_B - M_W bytes at the input gradient, by M_W at the weight gradient.
#ifndef CGRAPH_BENCH_SCHEDULE_HARNESS_PIPELINE_H_
#define CGRAPH_BENCH_SCHEDULE_HARNESS_PIPELINE_H_

#include <cstdint>
#include <string>

#include "compiler/cost/profile.h"
#include "compiler/schedule/options.h"
#include "runtime/base/status.h"

namespace cgraph::bench {

// Times in picoseconds and bytes are those of a whole device; chunks divide them.
struct PipelineSetup {
  std::string schedule = "auto";  // one of stdlib/schedules, or auto
  int64_t stages = 1, microbatches = 1, chunks = 1;
  uint64_t forward = 0, backward = 0, weight = 0, comm = 0;
  int64_t activation_bytes = 1 << 24, weight_bytes = 1 << 23;  // M_B, M_W
  int64_t most_activations = 0;                    // memory limit in M_B; 0: none
  bool v_shaped = false;                           // odd chunks go back over the devices
  bool split = true;                               // the two gradients are calls of their own
  schedule::Goal goal = schedule::Goal::kMakespan;
  uint32_t effort = 0;                             // 0: the default

  // Returns the work of each device.
  uint64_t work() const {
    return static_cast<uint64_t>(microbatches) * (forward + backward + weight);
  }
};

struct PipelineFigures {
  uint64_t makespan = 0, largest_span = 0, lower_bound = 0;  // picoseconds
  double peak_activations = 0;                               // in M_B
  double seconds = 0;                                        // to schedule, all phases
};

// The program's text.
std::string ProgramOf(const PipelineSetup& pipeline);

// Returns the times of its methods, for one chunk.
Profile ProfileOf(const PipelineSetup& pipeline);

Result<PipelineFigures> Measure(const PipelineSetup& pipeline);

}  // namespace cgraph::bench

#endif  // CGRAPH_BENCH_SCHEDULE_HARNESS_PIPELINE_H_
