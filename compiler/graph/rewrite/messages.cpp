#include "compiler/graph/rewrite/passes.h"

#include "compiler/base/transport.h"
#include "compiler/graph/names.h"

namespace cgraph::graph {

std::optional<Transport> MessageOf(const Module& module, DeviceId from, DeviceId to,
                                   Transport via) {
  if (from == to) return std::nullopt;
  if (via == Transport::kAuto) via = AutomaticTransport(module.devices[from], module.devices[to]);
  if (via != Transport::kNccl && via != Transport::kShm) return std::nullopt;
  return via;
}

cost::LinkRates LinkOf(const Module& module, const cost::Costs& costs, DeviceId from, DeviceId to,
                       Transport message) {
  return costs.Rates(module.devices[from], module.devices[to], message == Transport::kNccl);
}

}  // namespace cgraph::graph
