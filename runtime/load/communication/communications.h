// Communications: the channels and collectives of a graph: for each edge it says where its ends
// are, and the transport that is chosen for it (transport/transport.h) makes it.
#ifndef CGRAPH_RUNTIME_LOAD_COMMUNICATION_COMMUNICATIONS_H_
#define CGRAPH_RUNTIME_LOAD_COMMUNICATION_COMMUNICATIONS_H_

#include <cstdint>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/cluster/links.h"
#include "runtime/load/loaded_graph.h"
#include "runtime/load/loaded_plan.h"
#include "runtime/plan/graph_index.h"

namespace cgraph::engine {

// What the parts of comms are ends of. The channels and collectives themselves are the graph's.
struct Communications {
  // End: what load knows of a part of a comm, the end of a message or a member of a collective.
  struct End {
    transport::Collective* collective = nullptr;
    uint32_t number = 0;  // of a message in a round, or of the collective's member
    // Of a collective among queues: the place of its first part in GraphIndex::collective_parts(),
    // and how many there are.
    uint32_t first = 0, members = 0;
    bool local = false;  // the local transport made the collective
  };
  std::vector<End> ends;             // by part
  std::vector<bool> local_channel;   // per channel: the local transport's
  std::vector<bool> queued_channel;  // per channel: the queue transport's
};

// Makes the channels and collectives of `graph`. `links`: to ranks that share no memory, if there
// are any. kUnsupported with the reason where nothing serves one of them, kInvalid when there is no
// memory for their messages.
Result<Communications> MakeCommunications(const LoadedPlan& loaded, cluster::Links* links,
                                          const plan::GraphIndex& index, LoadedGraph& graph);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_LOAD_COMMUNICATION_COMMUNICATIONS_H_
