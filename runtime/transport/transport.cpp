#include "runtime/transport/transport.h"

#include <fmt/format.h>

#include "runtime/plan/kinds.h"
#include "runtime/plan/print.h"

namespace cgraph::transport {
namespace {

// "the channel from cpu[0] comm to cpu[1] comm", "the collective 0 (all_reduce)"
std::string NameOf(const Edge& edge) {
  if (edge.kind == Edge::Kind::kCollective) {
    return fmt::format("the collective {} ({})", edge.number,
                       plan::CollectiveName(*edge.graph->collectives[edge.number]));
  }
  const plan::Channel& channel = edge.graph->channels[edge.number];
  return fmt::format("the channel from {} to {}", plan::LaneName(*edge.plan, channel.from_lane()),
                     plan::LaneName(*edge.plan, channel.to_lane()));
}

Status Unsupported(const Edge& edge, const std::string& why) {
  return Status(StatusCode::kUnsupported, NameOf(edge) + " " + why);
}

const Transport* TransportOf(plan::TransportKind kind) {
  switch (kind) {
#define TRANSPORT(id, name, delivery, factory) \
  case plan::TransportKind::name: return factory();
#include "runtime/base/kinds/transports.def"
  }
  return nullptr;
}

// What carries an edge that the transport which is asked for does not serve. These have one
// meaning wherever the ends are: a plan for GPUs runs on threads, one for several machines in one
// process. The devices' own communicators come first, then what queues do by themselves, then
// threads of one machine, then messages between machines.
std::vector<const Transport*> InsteadOf(plan::TransportKind asked) {
  switch (asked) {
    case plan::TransportKind::local:
    case plan::TransportKind::shm:
    case plan::TransportKind::nccl:
    case plan::TransportKind::mpi:
      return {NcclTransport(), QueueTransport(), LocalTransport(), MpiTransport()};
    default: return {};
  }
}

}  // namespace

const Transport* NoTransport() { return nullptr; }

plan::TransportKind Edge::asked() const {
  return kind == Kind::kChannel ? graph->channels[number].transport()
                                : graph->collectives[number]->transport;
}

std::vector<const Transport*> Transports() {
  std::vector<const Transport*> all;
  const auto add = [&](const Transport* transport) {
    if (transport == nullptr) return;
    if (std::find(all.begin(), all.end(), transport) == all.end()) all.push_back(transport);
  };
#define TRANSPORT(id, name, delivery, factory) add(factory());
#include "runtime/base/kinds/transports.def"
  add(QueueTransport());
  return all;
}

Status CheckAsked(const Edge& edge) {
  if (TransportOf(edge.asked()) != nullptr) return Status::Ok();
  const char* const name = wire::EnumNameTransportKind(edge.asked());
  if (edge.kind == Edge::Kind::kChannel) {
    return Unsupported(edge, fmt::format("is carried by {}, which is a copy and no channel; "
                                         "compile with via shm or nccl", name));
  }
  return Unsupported(edge, fmt::format("is carried by {}, which this engine has not; compile via "
                                       "local, shm or nccl", name));
}

// The reason that is told is that of the transport which the plan asks for: the user can change
// that one.
Result<const Transport*> Choose(const Edge& edge) {
  CGRAPH_RETURN_IF_ERROR(CheckAsked(edge));
  const Transport* const asked = TransportOf(edge.asked());
  const char* const why_not = asked->why_not(edge);
  if (why_not == nullptr) return asked;
  for (const Transport* other : InsteadOf(edge.asked())) {
    if (other->why_not(edge) == nullptr) return other;
  }
  return Unsupported(edge, fmt::format("goes by {}: it {}", asked->name, why_not));
}

}  // namespace cgraph::transport
