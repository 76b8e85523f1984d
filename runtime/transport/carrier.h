// Carrier: moves bytes between lanes. Each carrier has a folder beside this file. It makes channels
// and collectives, and says of each edge of a plan whether it serves that edge and, if not, why.
#ifndef CGRAPH_RUNTIME_TRANSPORT_CARRIER_H_
#define CGRAPH_RUNTIME_TRANSPORT_CARRIER_H_

#include <memory>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/shared_heap.h"
#include "runtime/plan/plan.h"
#include "runtime/transport/channel.h"
#include "runtime/transport/collective.h"

namespace cgraph::transport {

class Carrier {
 public:
  virtual ~Carrier() = default;
  virtual std::string_view name() const = 0;

  // Return Ok, or kUnsupported with the reason: "the channel from gpu[0] comm to gpu[1] comm is
  // carried by mpi, which ...".
  virtual Status ServesChannel(const plan::Plan& plan, const plan::Graph& graph,
                               uint32_t channel) const = 0;
  virtual Status ServesCollective(const plan::Plan& plan, const plan::Graph& graph,
                                  uint32_t collective) const = 0;

  // Make what this carrier serves; what the ends share lies in the heap, which must outlive it.
  // kInvalid when there is no memory for the messages that it holds.
  virtual Result<std::unique_ptr<Channel>> MakeChannel(const ChannelShape& shape,
                                                       device::SharedHeap& heap) const = 0;
  virtual Result<std::unique_ptr<Collective>> MakeCollective(const CollectiveShape& shape,
                                                             device::SharedHeap& heap) const = 0;
};

// Returns all carriers of this build, in the order in which they are asked.
std::vector<const Carrier*> Carriers();

// Return the first carrier that serves the channel or collective. When none does, kUnsupported with
// the first carrier's reason.
Result<const Carrier*> CarrierOfChannel(const plan::Plan& plan, const plan::Graph& graph,
                                        uint32_t channel);
Result<const Carrier*> CarrierOfCollective(const plan::Plan& plan, const plan::Graph& graph,
                                           uint32_t collective);

}  // namespace cgraph::transport

#endif  // CGRAPH_RUNTIME_TRANSPORT_CARRIER_H_
