#include "runtime/load/communication/communications.h"

#include <algorithm>
#include <optional>

#include "runtime/engine/machines/machines.h"
#include "runtime/load/communication/collectives.h"
#include "runtime/load/communication/native_collectives.h"
#include "runtime/plan/print.h"
#include "runtime/transport/carrier.h"
#include "runtime/transport/local/local_carrier.h"
#include "runtime/transport/messages/collective/message_collective.h"
#include "runtime/transport/messages/message_channel.h"
#include "runtime/transport/queued/hosted_collective.h"
#include "runtime/transport/queued/native_collective.h"
#include "runtime/transport/queued/queued_collective.h"
#include "runtime/transport/queued/rendezvous_channel.h"
#include "runtime/transport/queued/staged_channel.h"

namespace cgraph::engine {
namespace {

class Maker {
 public:
  Maker(const Preparation& preparation, const plan::GraphIndex& index, LoadedGraph& graph)
      : p_(preparation), index_(index), out_(graph), graph_(*graph.plan) {}

  Result<Communications> Make() {
    CGRAPH_RETURN_IF_ERROR(TakeTags());
    CGRAPH_RETURN_IF_ERROR(MakeChannels());
    CGRAPH_RETURN_IF_ERROR(MakeCollectives());
    return std::move(made_);
  }

 private:
  Status MakeChannels() {
    for (uint32_t c = 0; c < graph_.channels.size(); ++c) {
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
      auto channel = MakeChannel(c, shape);
      if (!channel.ok()) return channel.status();
      const uint32_t from = graph_.channels[c].from_lane(), to = graph_.channels[c].to_lane();
      // The host has a part in both ends then.
      const bool hosted =
          LaneCommunicates(from) != LaneCommunicates(to) || RankOf(from) != RankOf(to);
      (*channel)->SetEventCounts(EventCountOf(from, hosted), EventCountOf(to, hosted));
      out_.channels.push_back(std::move(*channel));
      for (uint32_t j = 0; j < per_round; ++j) made_.message_of[index_.sends(c)[j].part] = j;
      for (uint32_t j = 0; j < index_.receives(c).size(); ++j) {
        made_.message_of[index_.receives(c)[j].part] = j;
      }
    }
    return Status::Ok();
  }

  // Takes a tag for each channel between machines, and for each member of each collective between
  // machines: the same at all ranks, also where they have parts of the plan.
  Status TakeTags() {
    if (p_.machines == nullptr) return Status::Ok();
    uint64_t tags = 0;
    for (const plan::Channel& channel : graph_.channels) {
      tags += RankOf(channel.from_lane()) != RankOf(channel.to_lane());
    }
    const std::vector<uint32_t>& collectives = p_.totals[out_.index].collectives;
    for (uint32_t c = 0; c < collectives.size(); ++c) {
      tag_of_communicator_.push_back(static_cast<uint32_t>(tags));
      if (IsApart(c)) tags += uint64_t{collectives[c]} * p_.plan->communicators[c].members();
    }
    auto first = p_.machines->NewTags(tags);
    if (!first.ok()) return first.status();
    next_channel_tag_ = *first;
    for (uint32_t& tag : tag_of_communicator_) tag += *first;
    return Status::Ok();
  }

  // Returns whether a communicator has members on several machines.
  bool IsApart(uint32_t communicator) const {
    const auto first =
        p_.plan->members.begin() + p_.plan->communicators[communicator].first_member();
    return std::any_of(first, first + p_.plan->communicators[communicator].members(),
                       [&](uint32_t lane) { return RankOf(lane) != RankOf(*first); });
  }

  // Makes a channel. Where a lane's queue carries communications out by itself, its end does what
  // the queue can do, and the other end, if the host drives it, what suits that.
  Result<std::unique_ptr<transport::Channel>> MakeChannel(uint32_t c,
                                                        const transport::ChannelShape& shape) {
    const uint32_t from_rank = RankOf(graph_.channels[c].from_lane());
    const uint32_t to_rank = RankOf(graph_.channels[c].to_lane());
    if (p_.machines != nullptr && (from_rank != to_rank || from_rank != p_.rank)) {
      return MakeBetweenMachines(c, shape);
    }
    const bool sends = LaneCommunicates(graph_.channels[c].from_lane());
    const bool receives = LaneCommunicates(graph_.channels[c].to_lane());
    made_.queued_channel.push_back(sends || receives);
    if (!sends && !receives) {
      auto carrier = transport::CarrierOfChannel(*p_.plan, graph_, c);
      if (!carrier.ok()) return carrier.status();
      made_.local_channel.push_back(*carrier == &transport::LocalCarrier());
      return (*carrier)->MakeChannel(shape, *p_.heap);
    }
    made_.local_channel.push_back(false);
    // A rendezvous with the host, or of GPUs that do not reach each other's memory, goes through
    // slots, too: its sender may go on a little earlier.
    const uint32_t sender = p_.plan->lanes[graph_.channels[c].from_lane()].device();
    const uint32_t receiver = p_.plan->lanes[graph_.channels[c].to_lane()].device();
    if (shape.capacity != 0 || !sends || !receives || !p_.arenas->Reaches(receiver, sender)) {
      return transport::MakeStagedChannel(shape, {!sends, !receives}, Host());
    }
    return transport::MakeRendezvousChannel(Host());
  }

  // Makes a channel between two machines, or of another one. Its messages bring poison flags along,
  // so in the sense of `queued_channel` no end is on a queue.
  Result<std::unique_ptr<transport::Channel>> MakeBetweenMachines(
      uint32_t c, const transport::ChannelShape& shape) {
    made_.queued_channel.push_back(false);
    made_.local_channel.push_back(false);
    const uint32_t from = graph_.channels[c].from_lane(), to = graph_.channels[c].to_lane();
    const uint32_t from_rank = RankOf(from), to_rank = RankOf(to);
    const uint32_t tag = from_rank != to_rank ? next_channel_tag_++ : 0;
    const uint32_t own = from_rank == p_.rank ? from : to;
    std::optional<transport::QueueEnd> queue_end;
    if (RankOf(own) == p_.rank && LaneCommunicates(own)) {
      queue_end = {&Host(), &DeviceOfLane(own), p_.relayer};
    }
    auto channel = transport::MakeMessageChannel(shape, p_.machines->messenger(), tag, from_rank,
                                               to_rank, queue_end);
    if (channel.ok() && queue_end) p_.machines->AddRelay(channel->get());
    return channel;
  }

  // Returns the rank that serves a lane, where ranks share no memory.
  uint32_t RankOf(uint32_t lane) const {
    return p_.machines == nullptr ? 0 : p_.plan->devices[p_.plan->lanes[lane].device()]->node;
  }

  bool IsHere(uint32_t lane) const { return p_.machines == nullptr || RankOf(lane) == p_.rank; }

  device::Device& DeviceOfLane(uint32_t lane) const {
    return *(*p_.devices)[p_.plan->lanes[lane].device()];
  }
  bool LaneCommunicates(uint32_t lane) const {
    return DeviceOfLane(lane).traits().queues_communicate;
  }

  // Returns whether each of these devices may read the memory of all others.
  bool ReachEachOther(const std::vector<uint32_t>& devices) const {
    return std::all_of(devices.begin(), devices.end(), [&](uint32_t reader) {
      return std::all_of(devices.begin(), devices.end(),
                         [&](uint32_t other) { return p_.arenas->Reaches(reader, other); });
    });
  }

  // Makes a collective among these members, of which some or all are on queues of this process that
  // communicate (`on_queue`); `first`: of their parts, among all. Sets `hosted` where the threads
  // that issue to the queues take part in it.
  Result<std::unique_ptr<transport::Collective>> MakeQueued(
      const transport::CollectiveShape& shape, std::span<const plan::CollectivePart> slots,
      size_t first, const std::vector<bool>& on_queue, bool& hosted) {
    if (auto communicator = p_.native->Of(out_.index, first)) {
      return transport::MakeNativeCollective(shape, std::move(communicator), MembersHere(slots),
                                           Host());
    }
    std::vector<uint32_t> numbers;
    std::vector<device::Device*> devices;  // null: another rank's
    for (const plan::CollectivePart& slot : slots) {
      const uint32_t device = numbers.emplace_back(index_.device(slot.instruction));
      devices.push_back(p_.view->IsHere(device) ? (*p_.devices)[device].get() : nullptr);
    }
    // A member at another rank is none of a queue of this one.
    hosted = std::find(on_queue.begin(), on_queue.end(), false) != on_queue.end() ||
             !ReachEachOther(numbers);
    if (!hosted) {
      return transport::MakeQueuedCollective(shape, devices, Host(),
                                           static_cast<uint32_t>(out_.frames.size()));
    }
    auto carried = MakeCarried(shape, slots);
    if (!carried.ok()) return carried.status();
    return transport::MakeHostedCollective(shape, std::move(carried->first), on_queue, Host());
  }

  // Returns which members are on this machine, where some are on another one.
  transport::MembersHere MembersHere(std::span<const plan::CollectivePart> slots) const {
    transport::MembersHere here;
    if (AreHere(RanksOf(slots))) return here;
    for (const plan::CollectivePart& slot : slots) {
      const uint32_t lane = index_.lane(slot.instruction);
      here.devices.push_back(IsHere(lane) ? &DeviceOfLane(lane) : nullptr);
    }
    here.tell_flags = p_.totals[out_.index].may_fail;
    return here;
  }

  // Makes a collective that the host drives, and says whether it is the local carrier's.
  Result<std::pair<std::unique_ptr<transport::Collective>, bool>> MakeCarried(
      const transport::CollectiveShape& shape, std::span<const plan::CollectivePart> slots) const {
    std::vector<uint32_t> ranks = RanksOf(slots);
    if (!AreHere(ranks)) {
      const uint32_t tag =
          tag_of_communicator_[slots[0].communicator] + slots[0].turn * shape.members;
      auto made =
          transport::MakeMessageCollective(shape, p_.machines->messenger(), tag, std::move(ranks));
      if (!made.ok()) return made.status();
      return std::pair(std::move(*made), false);
    }
    auto carrier =
        transport::CarrierOfCollective(*p_.plan, graph_, graph_.parts[slots[0].part].subject());
    if (!carrier.ok()) return carrier.status();
    auto made = (*carrier)->MakeCollective(shape, *p_.heap);
    if (!made.ok()) return made.status();
    return std::pair(std::move(*made), *carrier == &transport::LocalCarrier());
  }

  std::vector<uint32_t> RanksOf(std::span<const plan::CollectivePart> slots) const {
    std::vector<uint32_t> ranks;
    for (const plan::CollectivePart& slot : slots) {
      ranks.push_back(RankOf(index_.lane(slot.instruction)));
    }
    return ranks;
  }
  // Returns whether this process serves members of all these ranks.
  bool AreHere(const std::vector<uint32_t>& ranks) const {
    return p_.machines == nullptr ||
           std::count(ranks.begin(), ranks.end(), p_.rank) == static_cast<long>(ranks.size());
  }

  // Makes one collective for each collective of a round, with a member slot for each member.
  Status MakeCollectives() {
    return ForEachCollective(*p_.plan, index_, [&](size_t first, auto slots) {
      return MakeCollective(first, slots);
    });
  }

  Status MakeCollective(size_t first, std::span<const plan::CollectivePart> slots) {
    const transport::CollectiveShape shape = ShapeOf(graph_, slots);
    std::vector<bool> on_queue;
    for (const plan::CollectivePart& slot : slots) {
      const uint32_t lane = index_.lane(slot.instruction);
      on_queue.push_back(LaneCommunicates(lane) && IsHere(lane));
      if (on_queue.back()) made_.queued_members_of[slot.part] = {first, shape.members};
    }
    std::unique_ptr<transport::Collective> collective;
    bool local = false, hosted = false;
    if (std::find(on_queue.begin(), on_queue.end(), true) != on_queue.end()) {
      auto queued = MakeQueued(shape, slots, first, on_queue, hosted);
      if (!queued.ok()) return queued.status();
      collective = std::move(*queued);
    } else {
      auto carried = MakeCarried(shape, slots);
      if (!carried.ok()) return carried.status();
      std::tie(collective, local) = std::move(*carried);
    }
    for (const plan::CollectivePart& slot : slots) {
      collective->SetEventCount(slot.member, EventCountOf(index_.lane(slot.instruction), hosted));
      made_.member_slot_of[slot.part] = {collective.get(), slot.member, local};
    }
    out_.collectives.push_back(std::move(collective));
    return Status::Ok();
  }

  // Returns the event count of who waits for the other ends: in communications that the host takes
  // part in, a queue waits for nothing; the work queue that issues to it does.
  EventCount* EventCountOf(uint32_t lane, bool hosted) const {
    const QueueMap::Queue& queue = p_.queues->OfLane(lane);
    return hosted && LaneCommunicates(lane) ? p_.queues->queues[queue.work_queue].event_count
                                           : queue.event_count;
  }
  device::Device& Host() const { return *p_.devices->front(); }  // of the caller

  const Preparation& p_;
  const plan::GraphIndex& index_;
  LoadedGraph& out_;
  const plan::Graph& graph_;
  Communications made_;
  // Of messages between machines.
  uint32_t next_channel_tag_ = 0;
  std::vector<uint32_t> tag_of_communicator_;  // the first one
};

}  // namespace

Result<Communications> MakeCommunications(const Preparation& preparation,
                                          const plan::GraphIndex& index, LoadedGraph& graph) {
  return Maker(preparation, index, graph).Make();
}

}  // namespace cgraph::engine
