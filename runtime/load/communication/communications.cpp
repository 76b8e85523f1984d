#include "runtime/load/communication/communications.h"

#include <algorithm>

#include "runtime/load/communication/collectives.h"
#include "runtime/load/communication/native_collectives.h"
#include "runtime/transport/transport.h"

namespace cgraph::engine {
namespace {

class Maker {
 public:
  Maker(const LoadedPlan& loaded, cluster::Links* links, const plan::GraphIndex& index,
        LoadedGraph& graph)
      : loaded_(loaded),
        links_(links),
        index_(index),
        out_(graph),
        graph_(*graph.plan),
        context_{loaded_.heap.get(), &Host(), links_,
                 static_cast<uint32_t>(graph.frames.size())} {}

  Result<Communications> Make() {
    CGRAPH_RETURN_IF_ERROR(TakeTags());
    made_.ends.resize(graph_.parts.size());
    for (uint32_t c = 0; c < graph_.channels.size(); ++c) CGRAPH_RETURN_IF_ERROR(MakeChannel(c));
    CGRAPH_RETURN_IF_ERROR(
        ForEachCollective(*loaded_.plan, index_, [&](size_t first, auto parts) {
          return MakeCollective(first, parts);
        }));
    return std::move(made_);
  }

 private:
  // ---- channels ---------------------------------------------------------------------------------

  // The ranks that have the ends of an edge make what carries it; there is nothing at others.
  Status MakeChannel(uint32_t c) {
    const transport::Edge edge = EdgeOfChannel(c);
    if (!edge.any_here()) {
      out_.channels.push_back(nullptr);
      made_.local_channel.push_back(false);
      made_.queued_channel.push_back(false);
      NumberMessages(c);
      return Status::Ok();
    }
    auto chosen = transport::Choose(edge);
    if (!chosen.ok()) return chosen.status();
    auto channel = (*chosen)->make_channel(edge, ShapeOfChannel(c), context_);
    if (!channel.ok()) return channel.status();
    const bool hosted = edge.host_takes_part();
    (*channel)->SetEventCounts(EventCountOf(graph_.channels[c].from_lane(), hosted),
                               EventCountOf(graph_.channels[c].to_lane(), hosted));
    out_.channels.push_back(std::move(*channel));
    made_.local_channel.push_back(*chosen == transport::LocalTransport());
    made_.queued_channel.push_back(*chosen == transport::QueueTransport());
    NumberMessages(c);
    return Status::Ok();
  }

  void NumberMessages(uint32_t c) {
    for (uint32_t j = 0; j < index_.sends(c).size(); ++j) {
      made_.ends[index_.sends(c)[j].part].number = j;
    }
    for (uint32_t j = 0; j < index_.receives(c).size(); ++j) {
      made_.ends[index_.receives(c)[j].part].number = j;
    }
  }

  transport::ChannelShape ShapeOfChannel(uint32_t c) const {
    transport::ChannelShape shape;
    const uint32_t per_round = static_cast<uint32_t>(index_.sends(c).size());
    shape.capacity = graph_.channels[c].protocol() == plan::Protocol::rendezvous
                         ? 0
                         : std::max(1u, graph_.channels[c].capacity());
    // A rendezvous shows at most the messages of one group before it waits.
    uint32_t run = 0, last = plan::kNone;
    for (const plan::Message& send : index_.sends(c)) {
      const uint32_t order = graph_.instructions[send.instruction].certificate_position();
      run = order == last ? run + 1 : 1;
      last = order;
      shape.outstanding = std::max(shape.outstanding, run);
      const plan::CommPart& part = graph_.parts[send.part];
      shape.spans = std::max<uint32_t>(shape.spans, part.inputs());
      uint64_t bytes = 0;
      for (uint32_t o = part.first(); o < part.first() + part.inputs(); ++o) {
        const uint64_t value = graph_.values[graph_.operands[o]].bytes();
        bytes += value;
        shape.value_bytes = std::max(shape.value_bytes, value);
      }
      shape.message_bytes = std::max(shape.message_bytes, bytes);
    }
    if (shape.capacity != 0) {
      const uint64_t most = static_cast<uint64_t>(per_round) * (out_.depth + out_.lag + 1);
      shape.outstanding = static_cast<uint32_t>(std::min<uint64_t>(most, shape.capacity));
    }
    return shape;
  }

  transport::Edge EdgeOfChannel(uint32_t c) {
    transport::Edge edge = NewEdge(transport::Edge::Kind::kChannel, c);
    const uint32_t from = graph_.channels[c].from_lane(), to = graph_.channels[c].to_lane();
    edge.ends = {EndOf(from), EndOf(to)};
    if (edge.ends[0].rank != edge.ends[1].rank) edge.tag = next_channel_tag_++;
    if (edge.all_on_queues()) edge.reaches = loaded_.arenas->Reaches(DeviceOf(to), DeviceOf(from));
    return edge;
  }

  // ---- collectives ------------------------------------------------------------------------------

  // Makes the collective of these parts, and tells it the event count of each member. `first`: the
  // place of parts[0] in GraphIndex::collective_parts().
  Status MakeCollective(size_t first, std::span<const plan::CollectivePart> parts) {
    for (const plan::CollectivePart& part : parts) made_.ends[part.part].number = part.member;
    const transport::Edge edge = EdgeOfCollective(first, parts);
    if (!edge.any_here()) return Status::Ok();
    const transport::CollectiveShape shape = ShapeOf(graph_, parts);
    auto chosen = transport::Choose(edge);
    if (!chosen.ok()) return chosen.status();
    auto made = (*chosen)->make_collective(edge, shape, context_);
    if (!made.ok()) return made.status();
    const bool local = *chosen == transport::LocalTransport();
    for (size_t i = 0; i < parts.size(); ++i) {
      const plan::CollectivePart& part = parts[i];
      (*made)->SetEventCount(
          part.member, EventCountOf(index_.lane(part.instruction), edge.host_takes_part()));
      Communications::End& end = made_.ends[part.part];
      end.collective = made->get();
      end.local = local;
      if (!edge.ends[i].on_queue) continue;
      end.first = static_cast<uint32_t>(first);
      end.members = shape.members;
    }
    out_.collectives.push_back(std::move(*made));
    return Status::Ok();
  }

  transport::Edge EdgeOfCollective(size_t first, std::span<const plan::CollectivePart> parts) {
    transport::Edge edge =
        NewEdge(transport::Edge::Kind::kCollective, graph_.parts[parts[0].part].subject());
    std::vector<uint32_t> devices;
    for (const plan::CollectivePart& part : parts) {
      edge.ends.push_back(EndOf(index_.lane(part.instruction)));
      devices.push_back(index_.device(part.instruction));
    }
    if (edge.any_on_queue()) edge.communicator = loaded_.native.Of(out_.index, first);
    if (edge.all_on_queues() && edge.communicator == nullptr) {
      edge.reaches = ReachEachOther(devices);
    }
    if (edge.within()) return edge;
    edge.tells_flags = loaded_.totals[out_.index].may_fail;
    edge.tag = tag_of_communicator_[parts[0].communicator] +
               parts[0].turn * static_cast<uint32_t>(parts.size());
    return edge;
  }

  // Returns whether each of these devices may read the memory of all others.
  bool ReachEachOther(const std::vector<uint32_t>& devices) const {
    return std::all_of(devices.begin(), devices.end(), [&](uint32_t reader) {
      return std::all_of(devices.begin(), devices.end(),
                         [&](uint32_t other) { return loaded_.arenas->Reaches(reader, other); });
    });
  }

  // ---- what both have ---------------------------------------------------------------------------

  // Takes a tag for each channel between machines, and for each member of each collective between
  // machines: the same at all ranks, also where they have parts of the plan.
  Status TakeTags() {
    if (links_ == nullptr) return Status::Ok();
    uint64_t tags = 0;
    for (const plan::Channel& channel : graph_.channels) {
      tags += RankOf(channel.from_lane()) != RankOf(channel.to_lane());
    }
    const std::vector<uint32_t>& collectives = loaded_.totals[out_.index].collectives;
    for (uint32_t c = 0; c < collectives.size(); ++c) {
      tag_of_communicator_.push_back(static_cast<uint32_t>(tags));
      if (IsApart(c)) tags += uint64_t{collectives[c]} * loaded_.plan->communicators[c].members();
    }
    auto first = links_->NewTags(tags);
    if (!first.ok()) return first.status();
    next_channel_tag_ = *first;
    for (uint32_t& tag : tag_of_communicator_) tag += *first;
    return Status::Ok();
  }

  // Returns whether a communicator has members on several machines.
  bool IsApart(uint32_t communicator) const {
    const auto first =
        loaded_.plan->members.begin() + loaded_.plan->communicators[communicator].first_member();
    return std::any_of(first, first + loaded_.plan->communicators[communicator].members(),
                       [&](uint32_t lane) { return RankOf(lane) != RankOf(*first); });
  }

  transport::Edge NewEdge(transport::Edge::Kind kind, uint32_t number) const {
    transport::Edge edge;
    edge.plan = loaded_.plan.get();
    edge.graph = &graph_;
    edge.kind = kind;
    edge.number = number;
    edge.rank = OwnRank();
    return edge;
  }

  transport::Edge::End EndOf(uint32_t lane) const {
    const uint32_t number = DeviceOf(lane);
    device::Device* const device = loaded_.devices[number].get();
    transport::Edge::End end;
    end.rank = RankOf(lane);
    const bool here = end.rank == OwnRank();
    end.on_queue = here && device->traits().queues_communicate;
    if (here && loaded_.view.IsHere(number)) end.device = device;
    return end;
  }

  uint32_t DeviceOf(uint32_t lane) const { return loaded_.plan->lanes[lane].device(); }
  // Return the rank that serves a lane, and this one, where ranks that share memory are one.
  uint32_t RankOf(uint32_t lane) const {
    return links_ == nullptr ? 0 : loaded_.plan->devices[DeviceOf(lane)]->node;
  }
  uint32_t OwnRank() const { return links_ == nullptr ? 0 : loaded_.rank; }

  // Returns the event count of what waits for the other ends: the lane's queue, or the work queue
  // that issues to it in communications that the host takes part in, where a queue waits for
  // nothing.
  EventCount* EventCountOf(uint32_t lane, bool hosted) const {
    const QueueMap::Queue& queue = loaded_.queue_map.OfLane(lane);
    return hosted && loaded_.devices[DeviceOf(lane)]->traits().queues_communicate
               ? loaded_.queue_map.queues[queue.work_queue].event_count
               : queue.event_count;
  }
  device::Device& Host() const { return *loaded_.devices.front(); }  // of the caller

  const LoadedPlan& loaded_;
  cluster::Links* const links_;
  const plan::GraphIndex& index_;
  LoadedGraph& out_;
  const plan::Graph& graph_;
  const transport::Context context_;
  Communications made_;
  // Tags of messages between machines.
  uint32_t next_channel_tag_ = 0;
  std::vector<uint32_t> tag_of_communicator_;  // the first one
};

}  // namespace

Result<Communications> MakeCommunications(const LoadedPlan& loaded, cluster::Links* links,
                                          const plan::GraphIndex& index, LoadedGraph& graph) {
  return Maker(loaded, links, index, graph).Make();
}

}  // namespace cgraph::engine
