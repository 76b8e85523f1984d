// Communicators of devices that ranks of several machines serve: as among_ranks.cpp, but only rank
// 0 has the whole plan.
//
// All ranks know which lanes each communicator has, and which devices run on GPUs. Of each
// communicator whose members are all on GPUs, on more than one machine, the ranks with members tell
// rank 0 whether they would join it, and the first member's rank an id. Where all would, rank 0
// tells them the id, and they join. The order of the communicators' numbers rules out that two
// ranks wait for each other.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/load/communication/collectives.h"
#include "runtime/load/communication/native_collectives.h"
#include "runtime/plan/graph_index.h"
#include "runtime/transport/nccl/native_collective.h"

namespace cgraph::engine {
namespace {

constexpr const char* kWhat = "what GPUs carry out together";

template <typename Entry>
std::vector<Entry> EntriesOf(std::string_view text) {
  std::vector<Entry> entries(text.size() / sizeof(Entry));
  if (!entries.empty()) std::memcpy(entries.data(), text.data(), entries.size() * sizeof(Entry));
  return entries;
}

template <typename Entry>
std::string_view TextOf(const std::vector<Entry>& entries) {
  return {reinterpret_cast<const char*>(entries.data()), entries.size() * sizeof(Entry)};
}

}  // namespace

class CommunicatorsAmongMachines {
 public:
  CommunicatorsAmongMachines(const plan::Plan& plan,
                             const std::vector<std::unique_ptr<device::Device>>& devices,
                             const MachineView& view, NativeCollectives& found)
      : plan_(plan), devices_(devices), view_(view), found_(found) {}

  Status Find(const std::vector<std::unique_ptr<LoadedGraph>>& graphs) {
    std::set<uint32_t> ranks;  // that take part
    FindCandidates(ranks);
    if (ranks.empty() || (view_.rank != 0 && !ranks.contains(view_.rank))) return Status::Ok();
    CGRAPH_RETURN_IF_ERROR(
        ForEach(graphs, [&](LoadedGraph& graph, size_t, auto parts) { Count(graph, parts); }));
    CGRAPH_RETURN_IF_ERROR(Offer());
    ranks.erase(0);
    CGRAPH_RETURN_IF_ERROR(Agree({ranks.begin(), ranks.end()}));
    for (const auto& [number, id] : agreed_) {
      if (HasOwn(candidates_.at(number))) CGRAPH_RETURN_IF_ERROR(Join(number, id));
    }
    return ForEach(graphs,
                   [&](LoadedGraph& graph, size_t first, auto parts) { Add(graph, first, parts); });
  }

 private:
  // What a rank tells of a communicator.
  struct Said {
    uint32_t communicator = 0;
    uint32_t collectives = 0;  // in a round of each graph, that it would carry out
    bool joins = false;
    device::CommunicatorId id;  // of the first member's rank
  };

  // What rank 0 answers: a communicator that all join.
  struct Agreed {
    uint32_t communicator = 0;
    device::CommunicatorId id;
  };

  uint32_t NodeOf(uint32_t device) const { return plan_.devices[device]->node; }
  bool IsHere(uint32_t device) const { return NodeOf(device) == view_.rank; }
  bool HasOwn(const std::vector<uint32_t>& members) const {
    return std::any_of(members.begin(), members.end(),
                       [&](uint32_t device) { return IsHere(device); });
  }
  device::Device& OwnOf(const std::vector<uint32_t>& members) const {
    return *devices_[*std::find_if(members.begin(), members.end(),
                                   [&](uint32_t device) { return IsHere(device); })];
  }

  // Finds the communicators with collectives whose members are all on GPUs, of several machines.
  void FindCandidates(std::set<uint32_t>& ranks) {
    for (uint32_t c = 0; c < plan_.communicators.size(); ++c) {
      const bool used = std::any_of(view_.totals.begin(), view_.totals.end(),
                                    [&](const auto& graph) { return graph.collectives[c] != 0; });
      const plan::Communicator& communicator = plan_.communicators[c];
      std::vector<uint32_t> members;  // devices
      std::set<uint32_t> nodes;
      bool on_gpus = used;
      for (uint32_t m = 0; m < communicator.members(); ++m) {
        const uint32_t lane = plan_.members[communicator.first_member() + m];
        members.push_back(plan_.lanes[lane].device());
        nodes.insert(NodeOf(members.back()));
        on_gpus = on_gpus && view_.gpus->contains(members.back());
      }
      if (!on_gpus || nodes.size() < 2) continue;
      candidates_.emplace(c, std::move(members));
      ranks.merge(nodes);
    }
  }

  // Calls visit(graph, first part, parts) for each collective of a candidate.
  template <typename Visit>
  Status ForEach(const std::vector<std::unique_ptr<LoadedGraph>>& graphs, const Visit& visit) {
    for (const auto& graph : graphs) {
      plan::GraphIndex index(plan_, *graph->plan);
      index.IndexMessages();
      CGRAPH_RETURN_IF_ERROR(ForEachCollective(plan_, index, [&](size_t first, auto parts) {
        if (candidates_.contains(parts.front().communicator)) visit(*graph, first, parts);
        return Status::Ok();
      }));
    }
    return Status::Ok();
  }

  // Returns whether the GPUs of this rank would carry out a collective. All ranks say the same.
  bool CarriesOut(const LoadedGraph& graph, std::span<const plan::CollectivePart> parts) const {
    const std::vector<uint32_t>& members = candidates_.at(parts.front().communicator);
    return HasOwn(members) && transport::CarriesOut(OwnOf(members), ShapeOf(*graph.plan, parts));
  }

  void Count(const LoadedGraph& graph, std::span<const plan::CollectivePart> parts) {
    counts_[parts.front().communicator] += CarriesOut(graph, parts);
  }

  Status Offer() {
    for (const auto& [number, members] : candidates_) {
      if (!HasOwn(members) || counts_[number] == 0) continue;
      auto offer = OwnOf(members).communicators()->OfferCommunicator(number, UnitsOf(members),
                                                                     IsHere(members.front()));
      if (!offer.ok()) return offer.status();
      said_.push_back({number, counts_[number], offer->joins, offer->id});
    }
    return Status::Ok();
  }

  // Returns a number of each member's GPU that no other one has: of those here the one by which
  // this machine counts it.
  std::vector<uint32_t> UnitsOf(const std::vector<uint32_t>& members) const {
    constexpr uint32_t kMostOfMachine = 1 << 16;
    std::vector<uint32_t> units;
    for (uint32_t member : members) {
      const uint32_t machine = IsHere(member) ? 0 : NodeOf(member) + 1;
      units.push_back(machine * kMostOfMachine + view_.gpus->at(member));
    }
    return units;
  }

  Status Agree(const std::vector<uint32_t>& others) {
    cluster::Agreement& agreement = view_.links->agreement();
    if (view_.rank != 0) {
      auto answer = agreement.Tell(TextOf(said_), kWhat);
      if (!answer.ok()) return answer.status();
      for (const Agreed& each : EntriesOf<Agreed>(*answer)) {
        if (candidates_.contains(each.communicator)) agreed_.emplace(each.communicator, each.id);
      }
      return Status::Ok();
    }
    auto texts = agreement.Gather(others, kWhat);
    if (!texts.ok()) return texts.status();
    std::vector<Agreed> answer;
    Decide(*texts, answer);
    agreement.Answer(others, TextOf(answer));
    return Status::Ok();
  }

  // A communicator is made where all ranks with members would join it.
  void Decide(const std::map<uint32_t, std::string>& texts, std::vector<Agreed>& answer) {
    std::map<uint32_t, std::map<uint32_t, Said>> offers;  // by communicator, then rank
    for (const Said& each : said_) offers[each.communicator][0] = each;
    for (const auto& [rank, text] : texts) {
      for (const Said& each : EntriesOf<Said>(text)) offers[each.communicator][rank] = each;
    }
    for (const auto& [number, members] : candidates_) {
      const std::map<uint32_t, Said>& of_ranks = offers[number];
      const bool all = std::all_of(members.begin(), members.end(), [&](uint32_t device) {
        const auto offer = of_ranks.find(NodeOf(device));
        return offer != of_ranks.end() && offer->second.joins;
      });
      if (!all) continue;
      const Said& first = of_ranks.at(NodeOf(members.front()));
      answer.push_back({number, first.id});
      agreed_.emplace(number, first.id);
      if (!HasOwn(members)) found_.AddElsewhere(number, first.collectives);
    }
  }

  Status Join(uint32_t number, const device::CommunicatorId& id) {
    const std::vector<uint32_t>& members = candidates_.at(number);
    std::vector<device::Device*> devices;  // null: another machine's
    for (uint32_t member : members) {
      devices.push_back(IsHere(member) ? devices_[member].get() : nullptr);
    }
    auto made = OwnOf(members).communicators()->JoinCommunicator(number, devices,
                                                                 UnitsOf(members), id);
    if (made.ok()) made_.emplace(number, *made);
    return made.status();
  }

  void Add(LoadedGraph& graph, size_t first, std::span<const plan::CollectivePart> parts) {
    const auto communicator = made_.find(parts.front().communicator);
    if (communicator == made_.end() || !CarriesOut(graph, parts)) return;
    const transport::CollectiveShape shape = ShapeOf(*graph.plan, parts);
    found_.AddApart({&graph, first, shape.kind, shape.root, communicator->second, {}});
  }

  const plan::Plan& plan_;
  const std::vector<std::unique_ptr<device::Device>>& devices_;
  const MachineView& view_;
  NativeCollectives& found_;
  std::map<uint32_t, std::vector<uint32_t>> candidates_;  // by number: the devices of the members
  std::map<uint32_t, uint32_t> counts_;  // collectives that this rank would carry out
  std::vector<Said> said_;               // by this rank
  std::map<uint32_t, device::CommunicatorId> agreed_;
  std::map<uint32_t, std::shared_ptr<device::Communicator>> made_;
};

Status NativeCollectives::FindAmongMachines(
    const plan::Plan& plan, const std::vector<std::unique_ptr<device::Device>>& devices,
    const std::vector<std::unique_ptr<LoadedGraph>>& graphs, const MachineView& view) {
  return CommunicatorsAmongMachines(plan, devices, view, *this).Find(graphs);
}

}  // namespace cgraph::engine
