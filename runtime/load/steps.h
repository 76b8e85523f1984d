// Steps: GraphPreparation holds what is found out about a graph before its steps are made;
// prepare.cpp fills it part by part. MakeProgram() then makes the steps of one work queue.
#ifndef CGRAPH_RUNTIME_LOAD_STEPS_H_
#define CGRAPH_RUNTIME_LOAD_STEPS_H_

#include <cstdint>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/load/communication/communications.h"
#include "runtime/load/frames.h"
#include "runtime/load/load.h"
#include "runtime/load/loaded_graph.h"
#include "runtime/load/loaded_plan.h"
#include "runtime/load/objects/object_order.h"
#include "runtime/load/poison/native_calls.h"
#include "runtime/load/poison/poison.h"
#include "runtime/load/step.h"
#include "runtime/load/sync/sync.h"
#include "runtime/plan/graph_index.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {

struct GraphPreparation {
  GraphPreparation(const LoadContext& context, const LoadedPlan& loaded, LoadedGraph& graph)
      : context(context), loaded(loaded), out(graph), index(*loaded.plan, *graph.plan) {
    index.IndexMessages();
  }
  GraphPreparation(const GraphPreparation&) = delete;

  const LoadContext& context;
  const LoadedPlan& loaded;
  LoadedGraph& out;
  plan::GraphIndex index;
  const plan::Graph& graph = *out.plan;
  FrameOperands operands{index};  // of all steps
  PoisonFlags poison_flags;
  std::vector<std::vector<uint32_t>> work_queues;  // instructions
  std::vector<uint32_t> queue_of;                  // per instruction: the queue that runs it
  std::vector<bool> has_work;                      // per instruction: has a step of its own
  SyncNeeds needs;
  NativeCalls native_calls;
  ObjectOrder objects;
  std::vector<bool> host_signals;  // per event: the host signals it
  Communications communications;

  const device::Device& DeviceOf(uint32_t instruction) const {
    return *loaded.devices[index.device(instruction)];
  }
  uint32_t SlotOf(uint32_t instruction) const {
    return loaded.queue_map.queues[queue_of[instruction]].slot;
  }
  // Returns whether this process has steps of a work queue. Rank 0 has those of all ranks, since
  // these report positions by numbers of steps. Ranks of one machine have them, since they take the
  // same memory.
  bool IsPrepared(uint32_t work_queue) const {
    return context.links == nullptr || loaded.rank == 0 || loaded.HasWorkQueue(work_queue);
  }
  // Returns whether steps of a work queue have operands: not those that another machine runs.
  bool HasOperands(uint32_t work_queue) const {
    return context.links == nullptr || loaded.HasWorkQueue(work_queue);
  }
};

// Makes the program of a work queue. kUnsupported where a step would touch memory that it cannot;
// else the status of a kernel that cannot be made.
Status MakeProgram(GraphPreparation& graph, uint32_t work_queue, StepList& program);

// Adds communications that happen together to the program of a work queue: a step for each device
// queue, and one for all that the work queue drives itself (communication/comm_steps.cpp).
void AddCommSteps(GraphPreparation& graph, uint32_t work_queue,
                  const std::vector<uint32_t>& instructions, StepList& program);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_LOAD_STEPS_H_
