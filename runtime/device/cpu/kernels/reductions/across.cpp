#include "runtime/device/cpu/kernels/reductions/across.h"

#include <algorithm>

#include "runtime/device/cpu/kernels/elementwise/elementwise_ops.h"
#include "runtime/device/memory.h"
#include "runtime/device/numbers/half.h"
#include "runtime/device/numbers/targets.h"
#include "runtime/plan/kinds.h"

namespace cgraph::device {
namespace {

constexpr uint64_t kTile = 512;  // elements: accumulators stay in the first-level cache

// Participants are taken in the order of their ranks, element by element: so every member that
// computes an element gets the same bits, and in every round the same.
template <typename T, typename Op, bool kAverage>
struct Loop {
  [[gnu::always_inline]] static void Run(const void* const* from, uint32_t participants,
                                         uint64_t count, void* out) {
    using A = Compute<T>;
    A sums[kTile];
    for (uint64_t at = 0; at < count; at += kTile) {
      const uint64_t n = std::min(kTile, count - at);
      const T* first = static_cast<const T*>(from[0]) + at;
      for (uint64_t i = 0; i < n; ++i) sums[i] = static_cast<A>(first[i]);
      for (uint32_t p = 1; p < participants; ++p) {
        const T* more = static_cast<const T*>(from[p]) + at;
        for (uint64_t i = 0; i < n; ++i) sums[i] = Op::Of(sums[i], static_cast<A>(more[i]));
      }
      T* to = static_cast<T*>(out) + at;
      for (uint64_t i = 0; i < n; ++i) {
        if constexpr (kAverage) to[i] = T(sums[i] / static_cast<A>(participants));
        else to[i] = T(sums[i]);
      }
    }
  }
};

template <typename T>
Across Find(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum:
      return BestOf<Loop<T, Add, false>>();
    case Reduction::kProd:
      return BestOf<Loop<T, Multiply, false>>();
    case Reduction::kMin:
      return BestOf<Loop<T, Minimum, false>>();
    case Reduction::kMax:
      return BestOf<Loop<T, Maximum, false>>();
    case Reduction::kAvg:
      if constexpr (kIsFloat<T>) return BestOf<Loop<T, Add, true>>();
  }
  return nullptr;
}

}  // namespace

Across FindAcross(plan::DType dtype, Reduction reduction) {
  switch (dtype) {
    case plan::DType::bool_: return nullptr;
    case plan::DType::i8: return Find<int8_t>(reduction);
    case plan::DType::u8: return Find<uint8_t>(reduction);
    case plan::DType::i32: return Find<int32_t>(reduction);
    case plan::DType::i64: return Find<int64_t>(reduction);
    case plan::DType::f16: return Find<F16>(reduction);
    case plan::DType::bf16: return Find<BF16>(reduction);
    case plan::DType::f32: return Find<float>(reduction);
    case plan::DType::f64: return Find<double>(reduction);
  }
  return nullptr;
}

void ComputeRankResult(const RankResult& share, uint32_t rank, const void** from, uint64_t bytes,
                       void* out) {
  using Kind = CollectiveKind;
  const auto at = [](const void* base, uint64_t offset) {
    return static_cast<const std::byte*>(base) + offset;
  };
  const auto put = [&](uint64_t offset, const void* what) {
    CopyBytes(static_cast<std::byte*>(out) + offset, what, bytes);
  };
  switch (share.kind) {
    case Kind::kReduceScatter:
      for (uint32_t p = 0; p < share.members; ++p) from[p] = at(from[p], rank * bytes);
      [[fallthrough]];
    case Kind::kAllReduce:
    case Kind::kReduce: return share.across(from, share.members, bytes / share.width, out);
    case Kind::kAllGather:
    case Kind::kGather:
      for (uint32_t p = 0; p < share.members; ++p) put(p * bytes, from[p]);
      return;
    case Kind::kAllToAll:
      for (uint32_t p = 0; p < share.members; ++p) put(p * bytes, at(from[p], rank * bytes));
      return;
    case Kind::kBroadcast: return put(0, from[share.root]);
    case Kind::kScatter: return put(0, at(from[share.root], rank * bytes));
    case Kind::kBarrier: return;
  }
}

}  // namespace cgraph::device
