#include "compiler/cost/group/group_rate.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "compiler/cost/group/fair_share.h"
#include "compiler/cost/group/least_cut.h"
#include "llvm/ADT/DenseMap.h"

namespace cgraph::cost {
namespace {

// An exchange among more members than this goes around the ring: it has too many pairs to look at.
constexpr size_t kMostExchanging = 512;
// Rates are kept in fractions of a byte per microsecond, so that shares add up again to what is
// shared.
constexpr int kFractionBits = 14;
constexpr uint64_t kEndlessly = UINT64_MAX;

// Returns whole bytes per microsecond, at least one.
uint64_t Whole(uint64_t fractions) {
  constexpr uint64_t kHalf = uint64_t{1} << (kFractionBits - 1);
  if (fractions == kEndlessly) return fractions;
  return std::max<uint64_t>((fractions + kHalf) >> kFractionBits, 1);
}

// Loads: what each link and resource carries of transfers that run at once, in units of one
// transfer.
class Loads {
 public:
  explicit Loads(const Machine& machine)
      : machine_(machine), of_resources_(machine.resources.size(), 0) {}

  void Add(const Route& route, uint64_t times) {
    for (const Link& leg : route.legs) {
      auto& [load, bytes_per_us] = of_links_[{leg.from, leg.to}];
      load += times;
      bytes_per_us = leg.bytes_per_us;
      for (uint32_t resource : leg.through) of_resources_[resource] += times;
    }
  }

  // Returns the rate of each unit, in fractions; the largest number where nothing limits it.
  uint64_t UnitRate() const {
    uint64_t rate = kEndlessly;
    for (const auto& [link, use] : of_links_) {
      rate = std::min(rate, (use.second << kFractionBits) / use.first);
    }
    for (size_t i = 0; i < of_resources_.size(); ++i) {
      const Resource& resource = machine_.resources[i];
      if (of_resources_[i] == 0) continue;
      const uint64_t all = (resource.bytes_per_us * resource.capacity) << kFractionBits;
      rate = std::min(rate, all / of_resources_[i]);
    }
    return rate == kEndlessly ? rate : std::max<uint64_t>(rate, 1);
  }

  // Returns by resource the rate through it when each unit moves at `unit_rate`.
  std::vector<uint64_t> Rates(uint64_t unit_rate) const {
    std::vector<uint64_t> rates;
    for (uint64_t load : of_resources_) rates.push_back(load == 0 ? 0 : Whole(load * unit_rate));
    return rates;
  }

 private:
  const Machine& machine_;
  std::vector<uint64_t> of_resources_;
  llvm::DenseMap<std::pair<uint32_t, uint32_t>, std::pair<uint64_t, uint64_t>> of_links_;
};

class RateFinder {
 public:
  RateFinder(const Machine& machine, const Group& group, const FindRoute& find_route)
      : machine_(machine), group_(group), find_route_(find_route) {}

  GroupRate Run() const {
    if (group_.pattern == GroupPattern::kRing) return Around();
    const bool all = group_.pattern == GroupPattern::kAllPairs;
    if (all && group_.members.size() > kMostExchanging) return Forwarded();
    const GroupRate rate = Exchange();
    return rate.reached ? rate : Forwarded();
  }

 private:
  GroupRate Around() const {
    GroupRate best = BestRing();
    if (!group_.all_links) return best;
    std::optional<GroupRate> links = AllLinks();
    if (!links || (best.reached && links->bytes_per_us < best.bytes_per_us)) return best;
    return *links;
  }

  // Returns the tokens that a transfer needs for its rate, at least one of each resource.
  std::vector<uint32_t> TokensFor(const std::vector<uint64_t>& rates) const {
    std::vector<uint32_t> tokens;
    for (uint32_t i = 0; i < rates.size(); ++i) {
      const Resource& resource = machine_.resources[i];
      if (rates[i] == 0) continue;
      const uint64_t most = resource.bytes_per_us;
      const uint64_t count = std::min<uint64_t>((rates[i] + most - 1) / most, resource.capacity);
      tokens.insert(tokens.end(), count, i);
    }
    return tokens;
  }

  void Go(const LogicalDevice& from, const LogicalDevice& to, Loads& loads, GroupRate& rate) const {
    const std::optional<Route>& route = find_route_(from, to);
    rate.reached &= route.has_value();
    rate.stated &= !route || !route->legs.empty();
    rate.by_links &= route && route->legs.size() == 1;
    if (!route) return;
    loads.Add(*route, 1);
    uint64_t latency = 0;
    for (const Link& leg : route->legs) latency += leg.latency_ps;
    uint64_t& hop = from.node == to.node ? rate.hop_ps : rate.across_ps;
    hop = std::max(hop, latency);
  }

  GroupRate Ring(const std::vector<LogicalDevice>& order) const {
    GroupRate rate{.by_links = true};
    Loads loads(machine_);
    for (size_t i = 0; i < order.size(); ++i) {
      Go(order[i], order[(i + 1) % order.size()], loads, rate);
    }
    const uint64_t unit = loads.UnitRate();
    rate.bytes_per_us = Whole(unit);
    rate.across_bytes_per_us = rate.inside_bytes_per_us = IsOfSeveralNodes() ? Whole(unit) : 0;
    rate.resources = TokensFor(loads.Rates(unit));
    return rate;
  }

  bool IsOfSeveralNodes() const {
    return std::any_of(group_.members.begin(), group_.members.end(), [&](const auto& member) {
      return member.node != group_.members[0].node;
    });
  }

  GroupRate BestRing() const {
    GroupRate by_rank = Ring(group_.members);
    std::vector<LogicalDevice> sorted = group_.members;
    std::sort(sorted.begin(), sorted.end());
    if (sorted == group_.members) return by_rank;
    GroupRate by_device = Ring(sorted);
    const auto order = [](const GroupRate& rate) {
      return std::pair(rate.reached, rate.bytes_per_us);
    };
    return order(by_device) > order(by_rank) ? by_device : by_rank;
  }

  // Returns nothing where the links between members do not join them all.
  std::optional<GroupRate> AllLinks() const {
    std::vector<Arc> arcs;
    std::vector<Flow> flows;
    std::vector<uint64_t> capacities;
    for (const Resource& resource : machine_.resources) {
      capacities.push_back((resource.bytes_per_us * resource.capacity) << kFractionBits);
    }
    FindLinks(arcs, flows);
    FindWaysByHosts(arcs, flows, capacities);
    const std::vector<uint64_t> shares = FairShares(flows, capacities);
    std::vector<uint64_t> rates(capacities.size(), 0);
    for (size_t i = 0; i < arcs.size(); ++i) {
      arcs[i].capacity = shares[i];
      for (uint32_t resource : flows[i].through) rates[resource] += shares[i];
    }
    rates.resize(machine_.resources.size());
    for (uint64_t& rate : rates) rate = rate == 0 ? 0 : Whole(rate);
    GroupRate rate{.by_links = true};
    SetRatesOfNodes(arcs, rate);
    const auto members = static_cast<uint32_t>(group_.members.size());
    const std::optional<uint64_t> cut = LeastCut(members, std::move(arcs));
    if (!cut || *cut == 0) return std::nullopt;
    rate.bytes_per_us = Whole(*cut);
    rate.resources = TokensFor(rates);
    return rate;
  }

  // Sets what leaves a node at least, and what the members of one do among themselves.
  void SetRatesOfNodes(const std::vector<Arc>& arcs, GroupRate& rate) const {
    if (!IsOfSeveralNodes()) return;
    std::map<uint32_t, std::vector<uint32_t>> ranks_of;  // by node
    for (uint32_t rank = 0; rank < group_.members.size(); ++rank) {
      ranks_of[group_.members[rank].node].push_back(rank);
    }
    std::vector<uint32_t> node_of(group_.members.size()), place(group_.members.size());
    uint32_t nodes = 0;
    for (const auto& [node, ranks] : ranks_of) {
      for (uint32_t i = 0; i < ranks.size(); ++i) node_of[ranks[i]] = nodes, place[ranks[i]] = i;
      ++nodes;
    }
    std::vector<Arc> between;
    std::vector<std::vector<Arc>> within(nodes);
    for (const Arc& arc : arcs) {
      const uint32_t from = node_of[arc.from], to = node_of[arc.to];
      if (from != to) between.push_back({from, to, arc.capacity});
      if (from == to) within[from].push_back({place[arc.from], place[arc.to], arc.capacity});
    }
    rate.across_bytes_per_us = Whole(LeastCut(nodes, std::move(between)).value_or(0));
    rate.inside_bytes_per_us = kEndlessly;
    for (const auto& [node, ranks] : ranks_of) {
      if (ranks.size() < 2) continue;
      const uint64_t cut = LeastCut(static_cast<uint32_t>(ranks.size()),
                                    std::move(within[node_of[ranks[0]]])).value_or(0);
      rate.inside_bytes_per_us = std::min(rate.inside_bytes_per_us, Whole(cut));
    }
  }

  // Adds the ways by hosts between nodes that no link between their members joins. The links on
  // such a way are shared like resources, for which `capacities` grows.
  void FindWaysByHosts(std::vector<Arc>& arcs, std::vector<Flow>& flows,
                       std::vector<uint64_t>& capacities) const {
    const std::vector<LogicalDevice>& members = group_.members;
    std::set<std::pair<uint32_t, uint32_t>> joined;
    for (const Arc& arc : arcs) joined.emplace(members[arc.from].node, members[arc.to].node);
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> links;
    for (uint32_t from = 0; from < members.size(); ++from) {
      for (uint32_t to = 0; to < members.size(); ++to) {
        const std::pair nodes(members[from].node, members[to].node);
        if (nodes.first == nodes.second || joined.contains(nodes)) continue;
        const std::optional<Route>& route = find_route_(members[from], members[to]);
        if (!route || route->legs.empty()) continue;
        Flow flow{.alone = kEndlessly, .through = {}};
        for (const Link& leg : route->legs) {
          const uint64_t rate = leg.bytes_per_us << kFractionBits;
          flow.alone = std::min(flow.alone, rate);
          flow.through.insert(flow.through.end(), leg.through.begin(), leg.through.end());
          const auto [link, is_new] = links.emplace(std::pair(leg.from, leg.to), capacities.size());
          if (is_new) capacities.push_back(rate);
          flow.through.push_back(link->second);
        }
        arcs.push_back({from, to, 0});
        flows.push_back(std::move(flow));
      }
    }
  }

  void FindLinks(std::vector<Arc>& arcs, std::vector<Flow>& flows) const {
    std::map<uint32_t, uint32_t> ranks;
    for (uint32_t rank = 0; rank < group_.members.size(); ++rank) {
      if (const auto device = machine_.Find(group_.members[rank])) ranks.emplace(*device, rank);
    }
    for (const auto& [device, rank] : ranks) {
      for (const Link& link : machine_.LinksFrom(device)) {
        const auto to = ranks.find(link.to);
        if (to == ranks.end()) continue;
        arcs.push_back({rank, to->second, 0});
        flows.push_back({link.bytes_per_us << kFractionBits, link.through});
      }
    }
  }

  // Loads as many units as one member, or the root, sends: n - 1.
  GroupRate Exchange() const {
    GroupRate rate{.by_links = true};
    Loads loads(machine_);
    const std::vector<LogicalDevice>& members = group_.members;
    for (uint32_t from = 0; from < members.size(); ++from) {
      if (group_.pattern == GroupPattern::kFromRoot && from != group_.root) continue;
      for (uint32_t to = 0; to < members.size(); ++to) {
        if (from == to || (group_.pattern == GroupPattern::kToRoot && to != group_.root)) continue;
        Go(members[from], members[to], loads, rate);
      }
    }
    const uint64_t unit = loads.UnitRate();
    rate.resources = TokensFor(loads.Rates(unit));
    rate.bytes_per_us = Whole(unit == kEndlessly ? unit : unit * (members.size() - 1));
    return rate;
  }

  // Members pass on what is not for them. Around the ring a part goes n / 2 hops on average; those
  // of one root all pass its links.
  GroupRate Forwarded() const {
    GroupRate rate = Around();
    if (group_.pattern != GroupPattern::kAllPairs) return rate;
    rate.bytes_per_us = std::max<uint64_t>(2 * rate.bytes_per_us / group_.members.size(), 1);
    return rate;
  }

  const Machine& machine_;
  const Group& group_;
  const FindRoute& find_route_;
};

}  // namespace

GroupPattern PatternOf(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllToAll: return GroupPattern::kAllPairs;
    case CollectiveKind::kGather: return GroupPattern::kToRoot;
    case CollectiveKind::kScatter: return GroupPattern::kFromRoot;
    default: return GroupPattern::kRing;
  }
}

GroupRate RateOf(const Machine& machine, const Group& group, const FindRoute& find_route) {
  return RateFinder(machine, group, find_route).Run();
}

}  // namespace cgraph::cost
