#include "runtime/transport/local/local_carrier.h"

#include <fmt/format.h>

#include "runtime/plan/kinds.h"
#include "runtime/plan/print.h"
#include "runtime/transport/local/local_channel.h"
#include "runtime/transport/local/local_collective.h"

namespace cgraph::transport {
namespace {

template <typename Made, typename Interface, typename Shape>
Result<std::unique_ptr<Interface>> Make(const Shape& shape, device::SharedHeap& heap) {
  auto made = Made::Make(shape, heap);
  if (!made.ok()) return made.status();
  return std::unique_ptr<Interface>(std::move(*made));
}

class Local : public Carrier {
 public:
  std::string_view name() const override { return "local"; }

  Status ServesChannel(const plan::Plan& plan, const plan::Graph& graph,
                       uint32_t channel) const override {
    const plan::Channel& c = graph.channels[channel];
    const auto refuse = [&](const std::string& why) {
      return Status(StatusCode::kUnsupported,
                    fmt::format("the channel from {} to {} {}",
                                plan::LaneName(plan, c.from_lane()),
                                plan::LaneName(plan, c.to_lane()), why));
    };
    switch (c.carrier()) {
      case plan::Carrier::local:
      case plan::Carrier::shm:
      case plan::Carrier::nccl:
      case plan::Carrier::mpi: break;  // one address space, ordinary memory: all are served alike
      case plan::Carrier::host: return refuse("is carried by host, which is a copy and no "
                                              "channel; compile with via shm or nccl");
    }
    return Status::Ok();
  }

  Status ServesCollective(const plan::Plan&, const plan::Graph& graph, uint32_t id) const override {
    const plan::Collective& collective = *graph.collectives[id];
    switch (collective.carrier) {
      case plan::Carrier::local:
      case plan::Carrier::shm:
      case plan::Carrier::nccl:
      case plan::Carrier::mpi: return Status::Ok();  // one address space: all are served alike
      case plan::Carrier::host: break;
    }
    return Status(StatusCode::kUnsupported,
                  fmt::format("the collective {} ({}) is carried by {}, which this engine has "
                              "not; compile via local, shm or nccl",
                              id, plan::CollectiveName(collective),
                              wire::EnumNameCarrier(collective.carrier)));
  }

  Result<std::unique_ptr<Channel>> MakeChannel(const ChannelShape& shape,
                                               device::SharedHeap& heap) const override {
    return Make<LocalChannel, Channel>(shape, heap);
  }
  Result<std::unique_ptr<Collective>> MakeCollective(const CollectiveShape& shape,
                                                     device::SharedHeap& heap) const override {
    return Make<LocalCollective, Collective>(shape, heap);
  }
};

}  // namespace

const Carrier& LocalCarrier() {
  static const Local carrier;
  return carrier;
}

}  // namespace cgraph::transport
