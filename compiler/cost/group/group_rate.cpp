#include "compiler/cost/group/group_rate.h"

#include <algorithm>
#include <map>
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
    const size_t n = group_.members.size();
    if (group_.pattern != GroupPattern::kRing) {
      const bool all = group_.pattern == GroupPattern::kAllPairs;
      return all && n > kMostExchanging ? Forwarded() : Exchange();
    }
    GroupRate best = BestRing();
    if (!group_.all_links) return best;
    std::optional<GroupRate> links = AllLinks();
    return links && links->bytes_per_us >= best.bytes_per_us ? *links : best;
  }

 private:
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
    rate.stated &= route && !route->legs.empty();
    rate.by_links &= route && route->legs.size() == 1;
    if (!route) return;
    loads.Add(*route, 1);
    uint64_t latency = 0;
    for (const Link& leg : route->legs) latency += leg.latency_ps;
    rate.hop_ps = std::max(rate.hop_ps, latency);
  }

  GroupRate Ring(const std::vector<LogicalDevice>& order) const {
    GroupRate rate{.by_links = true};
    Loads loads(machine_);
    for (size_t i = 0; i < order.size(); ++i) {
      Go(order[i], order[(i + 1) % order.size()], loads, rate);
    }
    const uint64_t unit = loads.UnitRate();
    rate.bytes_per_us = Whole(unit);
    rate.resources = TokensFor(loads.Rates(unit));
    return rate;
  }

  GroupRate BestRing() const {
    GroupRate by_rank = Ring(group_.members);
    std::vector<LogicalDevice> sorted = group_.members;
    std::sort(sorted.begin(), sorted.end());
    if (sorted == group_.members) return by_rank;
    GroupRate by_device = Ring(sorted);
    return by_device.bytes_per_us > by_rank.bytes_per_us ? by_device : by_rank;
  }

  // Returns nothing where the links between members do not join them all.
  std::optional<GroupRate> AllLinks() const {
    std::vector<Arc> arcs;
    std::vector<Flow> flows;
    FindLinks(arcs, flows);
    std::vector<uint64_t> capacities;
    for (const Resource& resource : machine_.resources) {
      capacities.push_back((resource.bytes_per_us * resource.capacity) << kFractionBits);
    }
    const std::vector<uint64_t> shares = FairShares(flows, capacities);
    std::vector<uint64_t> rates(machine_.resources.size(), 0);
    for (size_t i = 0; i < arcs.size(); ++i) {
      arcs[i].capacity = shares[i];
      for (uint32_t resource : flows[i].through) rates[resource] += shares[i];
    }
    for (uint64_t& rate : rates) rate = rate == 0 ? 0 : Whole(rate);
    const auto members = static_cast<uint32_t>(group_.members.size());
    const std::optional<uint64_t> cut = LeastCut(members, std::move(arcs));
    if (!cut || *cut == 0) return std::nullopt;
    GroupRate rate{.bytes_per_us = Whole(*cut), .by_links = true};
    rate.resources = TokensFor(rates);
    return rate;
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

  // Around the ring a part goes n / 2 hops on average.
  GroupRate Forwarded() const {
    GroupRate rate = BestRing();
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
