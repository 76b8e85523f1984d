// Reductions over participants: the same elements of several tensors become one.
//
// Accumulated in the order of the participants, so that the result has the same bits whoever
// computes it; f16 and bf16 in f32, rounded once. Integers wrap around, NaN wins in min and max.
#ifndef CGRAPH_RUNTIME_DEVICE_KERNELS_ACROSS_H_
#define CGRAPH_RUNTIME_DEVICE_KERNELS_ACROSS_H_

#include <cstdint>
#include <string_view>

#include "runtime/plan/plan.h"

namespace cgraph::device {

// out[i] = from[0][i] ? from[1][i] ? ... for i < count. `out` overlaps none of them, or is one.
using Across = void (*)(const void* const* from, uint32_t participants, uint64_t count, void* out);

// Null for a dtype that the reduction does not take, or an unknown reduction.
Across FindAcross(plan::DType dtype, std::string_view reduction);

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_KERNELS_ACROSS_H_
