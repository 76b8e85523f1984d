// What stands in both halves, since the runtime knows nothing of the compiler, is the same in both.
#include <iterator>
#include <string_view>

#include "compiler/base/collective.h"
#include "compiler/base/dtype.h"
#include "runtime/plan/collective.h"
#include "runtime/plan/plan.h"

namespace cgraph::emit {
namespace {

// One list of dtypes in the compiler, one in the plan: in the same order.
static_assert(static_cast<int>(DType::kBool) == static_cast<int>(plan::DType::MIN));
static_assert(static_cast<int>(DType::kF16) == static_cast<int>(plan::DType::f16));
static_assert(static_cast<int>(DType::kI64) == static_cast<int>(plan::DType::i64));
static_assert(static_cast<int>(DType::kF64) == static_cast<int>(plan::DType::MAX));

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
