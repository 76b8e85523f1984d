#include "runtime/transport/carrier.h"

#include "runtime/transport/local/local_carrier.h"

namespace cgraph::transport {
namespace {

template <typename Serves>
Result<const Carrier*> FirstThat(Serves&& serves) {
  Status reason;
  for (const Carrier* carrier : Carriers()) {
    Status status = serves(*carrier);
    if (status.ok()) return carrier;
    if (reason.ok()) reason = std::move(status);
  }
  return reason;
}

}  // namespace

std::vector<const Carrier*> Carriers() { return {&LocalCarrier()}; }

Result<const Carrier*> CarrierOfChannel(const plan::Plan& plan, const plan::Graph& graph,
                                        uint32_t channel) {
  return FirstThat(
      [&](const Carrier& carrier) { return carrier.ServesChannel(plan, graph, channel); });
}

Result<const Carrier*> CarrierOfCollective(const plan::Plan& plan, const plan::Graph& graph,
                                           uint32_t collective) {
  return FirstThat(
      [&](const Carrier& carrier) { return carrier.ServesCollective(plan, graph, collective); });
}

}  // namespace cgraph::transport
