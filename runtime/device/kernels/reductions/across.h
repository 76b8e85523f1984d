// Collectives on memory that one thread can reach: reductions over participants, by which the same
// elements of several tensors become one, and what each participant gets.
//
// Accumulated in the order of the participants, so that the result has the same bits whoever
// computes it; f16 and bf16 in f32, rounded once. Integers wrap around, NaN wins in min and max.
#ifndef CGRAPH_RUNTIME_DEVICE_KERNELS_REDUCTIONS_ACROSS_H_
#define CGRAPH_RUNTIME_DEVICE_KERNELS_REDUCTIONS_ACROSS_H_

#include <cstdint>
#include <string_view>

#include "runtime/plan/collective.h"
#include "runtime/plan/plan.h"

namespace cgraph::device {

// out[i] = from[0][i] ? from[1][i] ? ... for i < count. `out` overlaps none of them, or is one.
using Across = void (*)(const void* const* from, uint32_t participants, uint64_t count, void* out);

// One tensor of a collective, and what each rank gets of it.
struct RankResult {
  plan::CollectiveKind::Id kind;
  uint32_t members, root;
  uint64_t width;  // bytes of an element
  Across across;   // of kinds that reduce
};
// `from` are the inputs by rank (of kinds that a root gives, its own counts), and is overwritten;
// `bytes`: what each rank has a part of, an input of kinds that join or keep, an output of others.
void ComputeRankResult(const RankResult& share, uint32_t rank, const void** from, uint64_t bytes,
                       void* out);

// Null for a dtype that the reduction does not take, or an unknown reduction.
Across FindAcross(plan::DType dtype, std::string_view reduction);

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_KERNELS_REDUCTIONS_ACROSS_H_
