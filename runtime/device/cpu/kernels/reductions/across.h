// Collectives on memory that one thread can reach: reductions over participants, which make one
// element of the same elements of several tensors, and the part of the result that each participant
// gets.
//
// Elements are accumulated in the order of the participants, so that the result has the same bits
// whoever computes it; f16 and bf16 in f32, rounded once. Integers wrap around, NaN wins in min and
// max.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_REDUCTIONS_ACROSS_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_REDUCTIONS_ACROSS_H_

#include <cstdint>

#include "runtime/base/kinds/collective.h"
#include "runtime/plan/plan.h"

namespace cgraph::device {

// out[i] = from[0][i] ? from[1][i] ? ... for i < count. `out` overlaps none of them, or is one.
using Across = void (*)(const void* const* from, uint32_t participants, uint64_t count, void* out);

// One tensor of a collective, and what each rank gets of it.
struct RankResult {
  CollectiveKind kind;
  uint32_t members, root;
  uint64_t width;  // bytes of an element
  Across across;   // of kinds that reduce
};
// Computes what one rank gets. `from` are the inputs by rank, and is overwritten; for kinds in
// which a root gives, only the root's entry counts. `bytes` is the size of what is divided by rank:
// of an input for kinds that join or keep, of an output for others.
void ComputeRankResult(const RankResult& share, uint32_t rank, const void** from, uint64_t bytes,
                       void* out);

// Returns null for a dtype that the reduction does not take, or an unknown reduction.
Across FindAcross(plan::DType dtype, Reduction reduction);

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_REDUCTIONS_ACROSS_H_
