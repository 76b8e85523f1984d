#include "compiler/graph/rewrite/passes.h"

#include "compiler/base/transport.h"
#include "compiler/graph/names.h"

namespace cgraph::graph {

std::optional<TransportKind> MessageOf(const Module& module, DeviceId from, DeviceId to,
                                       TransportKind via) {
  if (from == to) return std::nullopt;
  if (via == TransportKind::kAuto) {
    via = AutomaticTransport(module.devices[from], module.devices[to]);
  }
  if (via != TransportKind::kNccl && via != TransportKind::kShm) return std::nullopt;
  return via;
}

cost::LinkRates LinkOf(const Module& module, const cost::Costs& costs, DeviceId from, DeviceId to,
                       TransportKind message) {
  return costs.Rates(module.devices[from], module.devices[to], message);
}

}  // namespace cgraph::graph
