// Nccl: collectives that a communicator of devices carries out, among queues of one process, of
// processes that share memory, or of several machines. What the communicator is made of is the
// device's; load finds the collectives that one carries out.
#include "runtime/transport/nccl/native_collective.h"
#include "runtime/transport/transport.h"

namespace cgraph::transport {
namespace {

class Nccl final : public Transport {
 public:
  std::string_view name() const override { return "nccl"; }

  const char* WhyNot(const Edge& edge) const override {
    if (!edge.any_on_queue()) return "has no end on a queue that communicates by itself";
    if (edge.kind == Edge::Kind::kChannel) return "is a message, which queues copy themselves";
    if (edge.communicator == nullptr) return "has members without a communicator for it";
    return nullptr;
  }

  Result<std::unique_ptr<Collective>> MakeCollective(const Edge& edge,
                                                     const CollectiveShape& shape,
                                                     const Context& context) const override {
    // Within one machine every member sees the semaphores and flags of all others, and nothing has
    // to travel beside the values.
    MembersHere here;
    if (!edge.within()) {
      for (const Edge::End& end : edge.ends) {
        here.devices.push_back(end.rank == edge.rank ? end.device : nullptr);
      }
      here.tell_flags = edge.tells_flags;
    }
    return MakeNativeCollective(shape, edge.communicator, here, *context.host);
  }
};

}  // namespace

const Transport* NcclTransport() {
  static const Nccl nccl;
  return &nccl;
}

}  // namespace cgraph::transport
