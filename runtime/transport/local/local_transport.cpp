// Local: threads of one process, or of processes that share memory: what the ends share lies in a
// heap that has one address at all of them, so both are the same code.
#include "runtime/transport/local/local_channel.h"
#include "runtime/transport/local/local_collective.h"
#include "runtime/transport/transport.h"

namespace cgraph::transport {
namespace {

template <typename Made, typename Interface, typename Shape>
Result<std::unique_ptr<Interface>> Make(const Shape& shape, const Context& context) {
  auto made = Made::Make(shape, *context.heap);
  if (!made.ok()) return made.status();
  return std::unique_ptr<Interface>(std::move(*made));
}

class Local final : public Transport {
 public:
  std::string_view name() const override { return "local"; }

  const char* WhyNot(const Edge& edge) const override {
    if (!edge.within()) return "has an end on another machine";
    if (edge.any_on_queue()) return "has an end on a queue";
    return nullptr;
  }

  Result<std::unique_ptr<Channel>> MakeChannel(const Edge&, const ChannelShape& shape,
                                               const Context& context) const override {
    return Make<LocalChannel, Channel>(shape, context);
  }
  Result<std::unique_ptr<Collective>> MakeCollective(const Edge&, const CollectiveShape& shape,
                                                     const Context& context) const override {
    return Make<LocalCollective, Collective>(shape, context);
  }
};

}  // namespace

const Transport* LocalTransport() {
  static const Local local;
  return &local;
}

}  // namespace cgraph::transport
