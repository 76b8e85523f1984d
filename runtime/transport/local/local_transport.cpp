// Local: threads of one process, or of processes that share memory: what the ends share lies in a
// heap that has one address at all of them, so both are the same code.
#include "runtime/transport/local/local_channel.h"
#include "runtime/transport/local/local_collective.h"
#include "runtime/transport/transport.h"

namespace cgraph::transport {
namespace {

template <typename Made, typename Interface, typename Shape>
Result<std::unique_ptr<Interface>> Make(const Edge&, const Shape& shape, const Context& context) {
  auto made = Made::Make(shape, *context.heap);
  if (!made.ok()) return made.status();
  return std::unique_ptr<Interface>(std::move(*made));
}

constexpr Transport kLocal = {
    .name = "local",
    .why_not = [](const Edge& edge) -> const char* {
      if (!edge.within()) return "has an end on another machine";
      if (edge.any_on_queue()) return "has an end on a queue";
      return nullptr;
    },
    .make_channel = Make<LocalChannel, Channel, ChannelShape>,
    .make_collective = Make<LocalCollective, Collective, CollectiveShape>,
};

}  // namespace

const Transport* LocalTransport() { return &kLocal; }

}  // namespace cgraph::transport
