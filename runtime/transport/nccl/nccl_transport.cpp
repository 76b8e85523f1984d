// Nccl: collectives that a communicator of devices carries out, among queues of one process, of
// processes that share memory, or of several machines. What the communicator is made of is the
// device's; load finds the collectives that one carries out.
#include "runtime/transport/nccl/native_collective.h"
#include "runtime/transport/transport.h"

namespace cgraph::transport {
namespace {

const char* WhyNotNccl(const Edge& edge) {
  if (!edge.any_on_queue()) return "has no end on a queue that communicates by itself";
  if (edge.kind == Edge::Kind::kChannel) return "is a message, which queues copy themselves";
  if (edge.communicator == nullptr) return "has members without a communicator for it";
  return nullptr;
}

Result<std::unique_ptr<Collective>> MakeNcclCollective(const Edge& edge,
                                                       const CollectiveShape& shape,
                                                       const Context& context) {
  // Within one machine every member sees the semaphores and flags of all others, and nothing has
  // to travel beside the values.
  std::vector<device::Device*> here;
  if (!edge.within()) {
    for (const Edge::End& end : edge.ends) {
      here.push_back(end.rank == edge.rank ? end.device : nullptr);
    }
  }
  return MakeNativeCollective(shape, edge.communicator, here,
                              !edge.within() && edge.tells_flags, *context.host);
}

constexpr Transport kNccl = {"nccl", WhyNotNccl, nullptr, MakeNcclCollective};

}  // namespace

const Transport* NcclTransport() { return &kNccl; }

}  // namespace cgraph::transport
