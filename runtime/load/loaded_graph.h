// LoadedGraph: one graph of a plan, ready to run.
//
// Rounds and executions. Round r begins an execution and finishes the one that began `lag` rounds
// before it. Executions are counted from the `lag` empty ones that the first rounds finish: round r
// begins execution r + lag and finishes execution r, from the first round on. So whatever holds of
// the end of an execution holds of the end of a round:
//
//   Round r is submitted only when round r - depth is finished on every work queue.
//
// The submitter keeps this by `submitted - retired < frames` (and `in_progress < inflight`):
// execution r + lag takes the frame of execution r + lag - frames = r - depth, which has to be
// retired. Waits that look back that far are dropped (load/sync/sync.h), and a frame is filled for
// its next execution while work queues run, because of this. Debug builds assert it in
// Submitter::SubmitRound().
#ifndef CGRAPH_RUNTIME_LOAD_LOADED_GRAPH_H_
#define CGRAPH_RUNTIME_LOAD_LOADED_GRAPH_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/assert.h"
#include "runtime/device/device.h"
#include "runtime/device/semaphore_array.h"
#include "runtime/device/shared_array.h"
#include "runtime/load/step.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {

// InputPort: a leaf of the graph's inputs, as Execute() checks and copies it.
struct InputPort {
  std::string name;
  plan::DType dtype;
  uint64_t width = 0;  // bytes of an element
  struct Dim {
    int64_t extent;   // or bound
    uint32_t symbol;  // or none
    bool first;       // this port is where the symbol gets its extent
  };
  std::vector<Dim> dims;
  bool lendable = false;   // large enough that reading it in place is worth the patches
  device::Device* device = nullptr;        // whose memory it lies in
  const device::Memory* block = nullptr;
  bool host_visible = true;                // the block
  // Whether only copies in queues of `readers` read it. The program may use these GPUs, too, so the
  // input may lie in their memory.
  bool gpus_read = false;
  std::vector<std::shared_ptr<device::SharedGpu>> readers;

  // Returns whether its readers may find it where the caller has it in memory of a GPU.
  bool ReadOnGpus(const void* data) const {
    return gpus_read && std::all_of(readers.begin(), readers.end(),
                                    [&](const auto& gpu) { return gpu->Reads(data); });
  }
  // Writes an input into its place in a frame, at `to`. kFailed with the device's error.
  Status Write(void* to, const void* from, uint64_t bytes) const {
    if (!host_visible) {
      return device->CopyIn(*block, static_cast<std::byte*>(to) - block->data(), from, bytes);
    }
    device::CopyBytes(to, from, bytes);
    return Status::Ok();
  }
};

struct LoadedGraph {
  const plan::Graph* plan = nullptr;
  uint32_t index = 0;     // among the engine's graphs
  uint32_t inflight = 1;  // executions that may be in progress
  uint32_t lag = 0;       // most lag of any instruction: rounds that finish an execution
  uint32_t depth = 1;     // rounds that may be submitted and not finished: see above
  bool several_ranks = false;
  std::vector<Frame> frames;
  std::vector<StepList> programs;        // per work queue
  std::vector<uint32_t> participants;   // work queues with steps
  // By participants: where in program order the first of its instructions is that may report an
  // error; none: kNone.
  std::vector<uint32_t> first_failures;
  device::SemaphoreArray events;  // each counts its rounds
  std::vector<std::unique_ptr<transport::Channel>> channels;
  std::vector<std::unique_ptr<transport::Collective>> collectives;  // those of a round
  uint32_t poison_flags = 0;             // of a frame
  // Whether a device may set poison flags by itself: the host hears of the failure later than it
  // may see the values that are poisoned.
  bool flags_unannounced = false;
  device::SharedArray<std::atomic<uint8_t>> poison_bytes;  // of all frames
  std::vector<InputPort> inputs;
  // GivenExtent: an extent that submission writes (load/sync/instructions_with_work.cpp says when
  // it may).
  struct GivenExtent {
    uint32_t symbol = 0;
    uint32_t tensor = 0;  // of a frame
  };
  std::vector<GivenExtent> given_extents;
  // GivenDim: a dim of an output whose extent an input has. Submission writes it into the result.
  struct GivenDim {
    uint32_t output = 0;
    uint32_t dim = 0;
    uint32_t symbol = 0;
  };
  std::vector<GivenDim> given_dims;
  std::vector<uint64_t> output_offsets;  // per arena: in the output block (output arenas only)
  // The blocks that results of an execution lie in: the output block, of the caller's device; then
  // one for each device whose results stay in its memory.
  struct ResultBlock {
    uint32_t device = 0;
    uint64_t bytes = 0;
  };
  std::vector<ResultBlock> result_blocks = {{}};
  struct ResultPlace {
    uint32_t block = 0;
    uint64_t offset = 0;
  };
  std::vector<ResultPlace> results;                 // per output
  std::map<uint32_t, ResultPlace> buffers_on_gpus;  // of results that stay there
  std::vector<uint32_t> conflicts;       // graphs whose executions must be over before this one's
#if CGRAPH_ASSERTS
  std::span<std::atomic<uint64_t>> rounds_finished;  // per work queue
#endif

  // Returns the frame that a step of this lag works on, in a round whose own frame is `frame`.
  Frame& FrameOf(uint32_t frame, uint16_t lag) {
    if (lag == 0) return frames[frame];
    const uint32_t count = static_cast<uint32_t>(frames.size());
    return frames[(frame + count - lag % count) % count];
  }
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_LOAD_LOADED_GRAPH_H_
