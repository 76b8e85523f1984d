// Communicators of devices that several ranks of one machine serve.
//
// All ranks go through all collectives alike. Each says of those that it has a member of whether
// its devices would carry them out; where all members say so, they do. Then the ranks of each
// communicator join it, in one order everywhere, so that no two ranks wait for each other.
#ifndef CGRAPH_RUNTIME_LOAD_COMMUNICATION_AMONG_RANKS_H_
#define CGRAPH_RUNTIME_LOAD_COMMUNICATION_AMONG_RANKS_H_

#include <memory>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/device.h"
#include "runtime/load/communication/native_collectives.h"
#include "runtime/load/loaded_graph.h"
#include "runtime/load/peers/rank_view.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {

// Adds the collectives that communicators carry out. Where this rank has no member, the
// communicator is one that must not be called. kFailed with the error of a device's library, kLost
// where another rank has ended.
Status FindAmongRanks(const plan::Plan& plan,
                      const std::vector<std::unique_ptr<device::Device>>& devices,
                      const std::vector<std::unique_ptr<LoadedGraph>>& graphs, const RankView& view,
                      NativeCollectives& found);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_LOAD_COMMUNICATION_AMONG_RANKS_H_
