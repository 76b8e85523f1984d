// The kinds of collectives that a plan can name, and their reductions, once.
//
// A kind says who gives values and who gets them, and how the sizes of the two compare. Where
// sizes differ, or kAllToAll, dimension 0 is what is divided: rank r has the r-th of equal parts.
#ifndef CGRAPH_RUNTIME_PLAN_COLLECTIVE_H_
#define CGRAPH_RUNTIME_PLAN_COLLECTIVE_H_

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace cgraph::plan {

struct CollectiveKind {
  enum Id : uint8_t {
    kAllReduce, kReduceScatter, kAllGather, kAllToAll, kReduce, kGather, kBroadcast, kScatter,
    kBarrier,
  } id;
  std::string_view name;
  enum Who : uint8_t { kAll, kRoot, kNobody } in, out;
  enum Size : uint8_t { kSame, kTimesMembers, kOverMembers } size;  // of an output, by its input
  bool reduces, rooted;
};

inline constexpr CollectiveKind kCollectives[] = {
    {CollectiveKind::kAllReduce, "all_reduce", CollectiveKind::kAll, CollectiveKind::kAll,
     CollectiveKind::kSame, true, false},
    {CollectiveKind::kReduceScatter, "reduce_scatter", CollectiveKind::kAll, CollectiveKind::kAll,
     CollectiveKind::kOverMembers, true, false},
    {CollectiveKind::kAllGather, "all_gather", CollectiveKind::kAll, CollectiveKind::kAll,
     CollectiveKind::kTimesMembers, false, false},
    {CollectiveKind::kAllToAll, "all_to_all", CollectiveKind::kAll, CollectiveKind::kAll,
     CollectiveKind::kSame, false, false},
    {CollectiveKind::kReduce, "reduce", CollectiveKind::kAll, CollectiveKind::kRoot,
     CollectiveKind::kSame, true, true},
    {CollectiveKind::kGather, "gather", CollectiveKind::kAll, CollectiveKind::kRoot,
     CollectiveKind::kTimesMembers, false, true},
    {CollectiveKind::kBroadcast, "broadcast", CollectiveKind::kRoot, CollectiveKind::kAll,
     CollectiveKind::kSame, false, true},
    {CollectiveKind::kScatter, "scatter", CollectiveKind::kRoot, CollectiveKind::kAll,
     CollectiveKind::kOverMembers, false, true},
    {CollectiveKind::kBarrier, "barrier", CollectiveKind::kNobody, CollectiveKind::kNobody,
     CollectiveKind::kSame, false, false},
};
inline constexpr std::string_view kReductions[] = {"sum", "prod", "min", "max", "avg"};

// Null when there is none of that name.
constexpr const CollectiveKind* FindCollective(std::string_view name) {
  for (const CollectiveKind& kind : kCollectives) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

constexpr bool IsReduction(std::string_view name) {
  return std::find(std::begin(kReductions), std::end(kReductions), name) != std::end(kReductions);
}

}  // namespace cgraph::plan

#endif  // CGRAPH_RUNTIME_PLAN_COLLECTIVE_H_
