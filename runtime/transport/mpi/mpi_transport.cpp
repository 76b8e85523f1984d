// Mpi: messages between ranks that share no memory. It sends them by a cluster::Messenger, whatever
// wire that one has.
#include <optional>

#include "runtime/transport/mpi/mpi_transport.h"
#include "runtime/transport/transport.h"

namespace cgraph::transport {
namespace {

const char* WhyNotMpi(const Edge& edge) {
  if (edge.within()) return "has all its ends on this machine";
  if (edge.kind == Edge::Kind::kCollective && edge.any_on_queue()) {
    return "has a member on a queue, whose values go through host memory first";
  }
  return nullptr;
}

Result<std::unique_ptr<Channel>> MakeMpiChannel(const Edge& edge, const ChannelShape& shape,
                                                const Context& context) {
  const Edge::End& from = edge.ends[0];
  const Edge::End& to = edge.ends[1];
  const Edge::End& own = from.rank == edge.rank ? from : to;
  cluster::Links& links = *context.links;
  std::optional<QueueEnd> queue_end;
  if (own.on_queue) queue_end = {context.host, own.device, links.relayer()};
  auto channel = MakeMessageChannel(shape, links.messenger(), edge.tag, from.rank, to.rank,
                                    queue_end);
  // A queue cannot send: the threads that go on with messages do it for its end, and learn of the
  // end here.
  if (channel.ok() && queue_end) {
    links.AddRelay([made = channel->get()] { return made->Relay(); });
  }
  return channel;
}

Result<std::unique_ptr<Collective>> MakeMpiCollective(const Edge& edge,
                                                      const CollectiveShape& shape,
                                                      const Context& context) {
  std::vector<uint32_t> ranks;
  for (const Edge::End& end : edge.ends) ranks.push_back(end.rank);
  return MakeMessageCollective(shape, context.links->messenger(), edge.tag, std::move(ranks));
}

constexpr Transport kMpi = {"mpi", WhyNotMpi, MakeMpiChannel, MakeMpiCollective};

}  // namespace

const Transport* MpiTransport() { return &kMpi; }

}  // namespace cgraph::transport
