// LoadedGraph: one graph of a plan, ready to run.
#ifndef CGRAPH_RUNTIME_ENGINE_LOADED_GRAPH_H_
#define CGRAPH_RUNTIME_ENGINE_LOADED_GRAPH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/engine/execution_state.h"
#include "runtime/engine/step.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {

// A leaf of the graph's inputs, as Execute() checks and copies it.
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
};

struct LoadedGraph {
  const plan::Graph* plan = nullptr;
  uint32_t index = 0;     // among the engine's graphs
  uint32_t inflight = 1;  // executions that may be in progress
  uint32_t lag = 0;       // most lag of any instruction: rounds that finish an execution
  uint32_t depth = 1;     // round r is submitted when round (r - depth) is finished everywhere
  std::vector<Frame> frames;
  std::vector<StepList> programs;        // per work queue
  std::vector<uint32_t> participants;   // work queues with steps
  std::unique_ptr<device::Event[]> events;
  std::vector<std::unique_ptr<channel::Channel>> channels;
  std::vector<std::unique_ptr<channel::Collective>> collectives;  // those of a round
  uint32_t poison_flags = 0;
  std::vector<InputPort> inputs;
  std::vector<uint64_t> output_offsets;  // per arena: in the output block (output arenas only)
  std::vector<uint64_t> give_offsets;    // per output: in the output block
  uint64_t output_bytes = 0;
  std::vector<uint32_t> conflicts;       // graphs that must be finished before this one starts

  // Submission; under the core's lock.
  uint64_t submitted = 0;       // executions, empty ones among them: the next one's number
  uint64_t retired = 0;         // the first that is not known to be done
  uint32_t in_progress = 0;     // not retired and not empty
  uint32_t next_frame = 0;      // submitted mod frames
  uint32_t oldest_frame = 0;    // retired mod frames
  ExecutionState* free = nullptr;          // recycled runs
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_LOADED_GRAPH_H_
