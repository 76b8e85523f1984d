// What stands in both halves, since the runtime knows nothing of the compiler, is the same in both.
#include <cstdint>
#include <iterator>
#include <limits>
#include <string_view>

#include "compiler/base/collective.h"
#include "compiler/base/dtype.h"
#include "compiler/base/limits.h"
#include "compiler/graph/fuse/fuse.h"
#include "runtime/plan/collective.h"
#include "runtime/plan/dtype.h"
#include "runtime/plan/fused.h"
#include "runtime/plan/limits.h"
#include "runtime/plan/plan.h"

namespace cgraph::emit {
namespace {

// ---- dtypes: the same ones in the same order, so that a cast translates -------------------------

constexpr bool SameDType(DType ours, std::string_view name, int64_t bytes, DTypeClass of) {
  const auto plans = static_cast<plan::DType>(ours);
  return plan::DTypeName(plans) == name && plan::DTypeBytes(plans) == bytes &&
         plan::IsFloat(plans) == (of == DTypeClass::kFloating);
}
#define DTYPE(id, name, bytes, class) \
  static_assert(SameDType(DType::id, name, bytes, DTypeClass::class));
#include "compiler/base/dtypes.def"

#define DTYPE(id, name, bytes, class) +1
static_assert(
#include "compiler/base/dtypes.def"
    == plan::kDTypes);
static_assert(plan::kDTypes == static_cast<int>(plan::DType::MAX) + 1);

// ---- limits: what the compiler lets through, a plan may be --------------------------------------

static_assert(kMaxRank == plan::kMaxRank);
static_assert(kMaxTensorBytes <= static_cast<int64_t>(plan::kMaxArenaBytes));
static_assert(kMaxInflight <= plan::kMaxInflight);
static_assert(kMaxOperands <= std::numeric_limits<decltype(plan::Instruction().inputs())>::max());
static_assert(kMaxFusedSteps == plan::kMaxFusedSteps);
static_assert(kMaxFusedOperands == plan::kMaxFusedOperands);
static_assert(kMaxFusedSteps <= plan::kMaxTemporaries);
static_assert(kMaxFusedOperands <= plan::kMaxInplace);

// ---- collectives --------------------------------------------------------------------------------

constexpr bool SameWho(CollectiveTraits::Who ours, plan::CollectiveKind::Who plans) {
  switch (ours) {
    case CollectiveTraits::kEach: return plans == plan::CollectiveKind::kAll;
    case CollectiveTraits::kRoot: return plans == plan::CollectiveKind::kRoot;
    case CollectiveTraits::kNobody: return plans == plan::CollectiveKind::kNobody;
  }
  return false;
}

constexpr bool SameSize(CollectiveTraits::Rows ours, plan::CollectiveKind::Size plans) {
  switch (ours) {
    case CollectiveTraits::kSame:
    case CollectiveTraits::kExchanged: return plans == plan::CollectiveKind::kSame;
    case CollectiveTraits::kTimes: return plans == plan::CollectiveKind::kTimesMembers;
    case CollectiveTraits::kOver: return plans == plan::CollectiveKind::kOverMembers;
  }
  return false;
}

constexpr bool Same(const CollectiveTraits& ours, const plan::CollectiveKind& plans) {
  return plans.name == ours.name && SameWho(ours.from, plans.in) && SameWho(ours.to, plans.out) &&
         SameSize(ours.rows, plans.size) && ours.reduces == plans.reduces &&
         ours.rooted() == plans.rooted;
}

// By index: with sanitizers GCC takes no comparison of pointers for a constant.
constexpr bool SameCollectives() {
  if (std::size(kCollectiveTraits) != std::size(plan::kCollectives)) return false;
  for (size_t i = 0; i < std::size(kCollectiveTraits); ++i) {
    bool found = false;
    for (size_t j = 0; j < std::size(plan::kCollectives); ++j) {
      found = found || Same(kCollectiveTraits[i], plan::kCollectives[j]);
    }
    if (!found) return false;
  }
  return true;
}
static_assert(SameCollectives());

constexpr bool SameReductions() {
  if (std::size(kReductionNames) != std::size(plan::kReductions)) return false;
  for (const char* name : kReductionNames) {
    if (!plan::IsReduction(name)) return false;
  }
  return true;
}
static_assert(SameReductions());

}  // namespace
}  // namespace cgraph::emit
