// Sync: the signals and waits of a proved graph that have anything left to do.
//
// One in-order queue (queue_map.h) follows the certificate, so a wait for a signal of the same
// queue is over before it is reached. A round is submitted only when the round `depth` before it is
// over everywhere, so a wait that looks back that far is over as well. A lane that neither works
// nor waits (the caller's lane of inputs) signals nothing that the submission has not said. A lane
// that neither works nor signals (the caller's lane of outputs, where results lie in place already)
// has nothing to wait for. With one execution in progress at a time, the last two hold for the
// beginning of every lane and for the end of every queue.
//
// The signals and waits that are left are those that two queues really need.
//
// An instruction has work when there is anything to do for it besides signalling and waiting. An
// input or output has some only where an extent is made that submission cannot make, a size is
// known when methods have run, or the result has to be brought to the output block.
#ifndef CGRAPH_RUNTIME_LOAD_SYNC_SYNC_H_
#define CGRAPH_RUNTIME_LOAD_SYNC_SYNC_H_

#include <cstdint>
#include <vector>

#include "runtime/plan/graph_index.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {

inline constexpr uint32_t kNoDepth = UINT32_MAX;

// Returns which instructions have work. `depth`: as LoadedGraph's; kNoDepth where the plan is not
// proved, and submission makes nothing.
std::vector<bool> FindInstructionsWithWork(const plan::GraphIndex& index, uint32_t depth);

struct SyncNeeds {
  std::vector<bool> signal;  // per event
  std::vector<bool> wait;    // per entry of graph.waits
};

// `queues`: the instructions of each, in order. `queue_of`, `has_work`: by instruction. `depth`: as
// LoadedGraph's.
SyncNeeds FindSyncNeeds(const plan::Graph& graph, const std::vector<std::vector<uint32_t>>& queues,
                        const std::vector<uint32_t>& queue_of, const std::vector<bool>& has_work,
                        uint32_t depth);

// Keeps everything: for plans that are not proved.
SyncNeeds KeepAllSync(const plan::Graph& graph);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_LOAD_SYNC_SYNC_H_
