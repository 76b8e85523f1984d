// Control: what rank 0 and the others tell each other besides the plan's own messages. It is the
// first block of the region.
#ifndef CGRAPH_RUNTIME_CLUSTER_SHARED_CONTROL_H_
#define CGRAPH_RUNTIME_CLUSTER_SHARED_CONTROL_H_

#include <atomic>
#include <cstdint>

#include "runtime/base/status.h"
#include "runtime/base/sync/event_count.h"
#include "runtime/cluster/shared/shared_text.h"
#include "runtime/cluster/state_request.h"

namespace cgraph::cluster {

inline constexpr uint32_t kMostRanks = 256;
inline constexpr uint32_t kMostOptionBytes = 20480;

// How far a rank is. Each state is written once, by the rank itself.
struct alignas(128) RankState {
  enum Phase : uint32_t { kStarting, kLoaded, kFailed };
  std::atomic<uint32_t> phase{kStarting};
  uint64_t region_bytes = 0;  // taken when the plan was loaded: the same at all ranks
  uint32_t captures = 0;      // CUDA graphs of an execution, on its GPUs
  StatusCode code = StatusCode::kOk;  // kFailed: why
  SharedText<4096> text;
  // What the rank has told others while it loads the plan (exchange.h): how often, and what it was
  // about the last time.
  std::atomic<uint32_t> steps{0};
  SharedText<64> step;
  std::atomic<int32_t> process{0};  // its number; 0: it has told nothing
  // A device of the rank has failed as a whole: why. Written once, by the rank, before anybody can
  // see what has come of it.
  std::atomic<bool> device_failed{false};
  SharedText<4096> device_failure;
  // The engine has ended, and nothing of the rank's queues is at work any more.
  std::atomic<bool> closed{false};
};

// A device of the plan that runs on a GPU, and which.
struct GpuOfDevice {
  uint32_t device = 0, gpu = 0;
};

// What rank 0 asks another rank about states, and the piece that goes with it.
struct SharedStateRequest {
  // The rank that is asked. What follows is that one's then, until it stores 0: rank 0's again.
  alignas(128) std::atomic<uint32_t> asked{0};
  StateRequest request;
  uint8_t piece[StateRequest::kMostBytes];
};

struct Control {
  // What the other ranks load the plan with.
  uint32_t ranks = 1;
  SharedText<kMostOptionBytes> options;  // engine::TextForRanks()
  const uint8_t* plan = nullptr;  // in the region
  uint64_t plan_bytes = 0;
  const GpuOfDevice* gpus = nullptr;  // in the region
  uint64_t gpu_count = 0;
  EventCount changed;  // notified when a phase, an answer about states or one of the
                               // next two has changed
  // All have loaded the plan. Until then a rank makes the objects of the region, each the same, and
  // nobody may use them.
  std::atomic<bool> started{false};
  alignas(128) std::atomic<bool> ended{false};
  // Once it has ended: every rank has closed its queues, or is gone. Then ranks may end, and what
  // GPUs read of each other may go.
  std::atomic<bool> released{false};
  SharedStateRequest states_asked;
  RankState states[kMostRanks];
};

}  // namespace cgraph::cluster

#endif  // CGRAPH_RUNTIME_CLUSTER_SHARED_CONTROL_H_
