// GroupRate: how fast the members of a collective move bytes on a stated machine, and which
// resources they hold meanwhile.
//
// The rates can be reached at the same time: several flows through one link or resource share it.
// Rings (all_reduce, broadcast, ...) are as fast as the better of two ways. One is a single ring,
// in the order of the ranks or in that of the devices, staged in hosts where no link leads on. The
// other uses all links between members together: each gets its fair share of the resources on its
// way, and the bandwidth out of any set of members to the rest bounds the whole (the least cut).
// Where no link leads from the members of one node to those of another, the ways by their hosts
// count as links. Exchanges (gather, scatter, all_to_all) send each part straight to the member
// that gets it, or around, where some pair has no way but over other members.
#ifndef CGRAPH_COMPILER_COST_GROUP_GROUP_RATE_H_
#define CGRAPH_COMPILER_COST_GROUP_GROUP_RATE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "compiler/cost/machine.h"
#include "runtime/base/kinds/collective.h"

namespace cgraph::cost {

enum class GroupPattern : uint8_t { kRing, kToRoot, kFromRoot, kAllPairs };
GroupPattern PatternOf(CollectiveKind kind);

struct Group {
  std::vector<LogicalDevice> members;  // by rank; at least two
  GroupPattern pattern = GroupPattern::kRing;
  uint32_t root = 0;               // a rank, of those patterns that have one
  bool all_links = false;          // of a ring: may use all links between members at once
  auto operator<=>(const Group&) const = default;
};

struct GroupRate {
  // The rate of a ring. For an exchange it is given as if its parts went around a ring: the bytes
  // that a member (or the root) sends or receives in all, over the time that the exchange takes.
  uint64_t bytes_per_us = 0;
  // The slowest ways between neighbours in the order of the ranks: within a node, and between two.
  uint64_t hop_ps = 0, across_ps = 0;
  // The least that leaves or enters a node, and the rate among the members of one node. Both are 0
  // unless the members of a ring are on several nodes.
  uint64_t across_bytes_per_us = 0, inside_bytes_per_us = 0;
  bool by_links = false;            // all members are joined by links of their own
  bool stated = true;               // false: some way is through memory of which nothing is stated
  bool reached = true;              // false: no way at all leads from some member to the next one
  std::vector<uint32_t> resources;  // sorted; one as often as tokens of it are held
};

using FindRoute =
    std::function<const std::optional<Route>&(const LogicalDevice& from, const LogicalDevice& to)>;

GroupRate RateOf(const Machine& machine, const Group& group, const FindRoute& find_route);

}  // namespace cgraph::cost

#endif  // CGRAPH_COMPILER_COST_GROUP_GROUP_RATE_H_
