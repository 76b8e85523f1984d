// Queue: what queues of devices carry out by themselves, and what they do with the host through
// pinned memory, within the ranks that share memory.
#include "runtime/transport/queue/queue_transport.h"
#include "runtime/transport/transport.h"

namespace cgraph::transport {
namespace {

const char* WhyNotQueue(const Edge& edge) {
  if (!edge.any_on_queue()) return "has no end on a queue that communicates by itself";
  if (edge.kind == Edge::Kind::kChannel && !edge.within()) return "goes to another machine";
  return nullptr;
}

// A rendezvous with the host, or of devices that do not reach each other's memory, goes through
// slots, too: its sender may go on a little earlier.
Result<std::unique_ptr<Channel>> MakeQueueChannel(const Edge& edge, const ChannelShape& shape,
                                                  const Context& context) {
  const bool sends = edge.ends[0].on_queue, receives = edge.ends[1].on_queue;
  if (shape.capacity != 0 || !sends || !receives || !edge.reaches) {
    return MakeStagedChannel(shape, !sends, !receives, *context.host);
  }
  return MakeRendezvousChannel(*context.host);
}

// The threads that issue to queues take part for these: in what carries the edge among threads.
Result<std::unique_ptr<Collective>> MakeHosted(const Edge& edge, const CollectiveShape& shape,
                                               const Context& context) {
  Edge among_threads = edge;
  std::vector<bool> on_queue;
  for (Edge::End& end : among_threads.ends) {
    on_queue.push_back(end.on_queue);
    end.on_queue = false;
  }
  auto chosen = Choose(among_threads);
  if (!chosen.ok()) return chosen.status();
  auto carried = (*chosen)->make_collective(among_threads, shape, context);
  if (!carried.ok()) return carried.status();
  return MakeHostedCollective(shape, std::move(*carried), on_queue, *context.host);
}

Result<std::unique_ptr<Collective>> MakeQueueCollective(const Edge& edge,
                                                        const CollectiveShape& shape,
                                                        const Context& context) {
  if (edge.host_takes_part()) return MakeHosted(edge, shape, context);
  std::vector<device::Device*> devices;
  for (const Edge::End& end : edge.ends) devices.push_back(end.device);
  return MakeQueuedCollective(shape, devices, *context.host, context.frames);
}

constexpr Transport kQueue = {"queue", WhyNotQueue, MakeQueueChannel, MakeQueueCollective};

}  // namespace

const Transport* QueueTransport() { return &kQueue; }

}  // namespace cgraph::transport
