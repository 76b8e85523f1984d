// The table of elementwise operations: from the name and dtype of an operation in kernels.def to
// the loop that computes it. Kernels of one operation and of fused chains run the same loops.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ELEMENTWISE_ELEMENT_LOOPS_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ELEMENTWISE_ELEMENT_LOOPS_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "runtime/plan/kinds.h"

namespace cgraph::device {

// Computes `count` elements; in[i] is where the i-th operand begins. A result may be the memory of
// an operand with elements of the same size: element i is read before it is written.
using ElementLoop = void (*)(const void* const* in, void* out, int64_t count);

inline constexpr int kMostOperands = 3;

struct ElementOp {
  int operands = 0;
  bool gives_bool = false;   // else the dtype of its operands
  bool takes_bool = false;   // the first operand is bool, the others have the result's dtype
  bool widens = false;       // its loops take and give f32 for f16 and bf16 (HalfLoops)
  ElementLoop all = nullptr;                        // every operand moves along
  // The first or the second operand alone moves along; may be null.
  ElementLoop only_a = nullptr, only_b = nullptr;
  // As `all`, for a result that GoesPastCaches; FinishPastCaches is called after the last loop. May
  // be null.
  ElementLoop past_caches = nullptr;

  // Returns the loop over `count` elements as they lie in memory, where these operands move along;
  // null when the operands must be brought into tiles first.
  ElementLoop LoopFor(const bool* moves, int64_t count) const {
    if (widens) return nullptr;
    if (count == 1 || std::all_of(moves, moves + operands, [](bool m) { return m; })) return all;
    if (operands == 2 && moves[1]) return only_b;
    if (moves[0] && std::none_of(moves + 1, moves + operands, [](bool m) { return m; })) {
      return only_a;
    }
    return nullptr;
  }
};

// Returns whether a result is written to memory past the caches, so that its lines are not read
// before they are written. That is so when it is larger than most caches, begins at a cache line,
// and is no operand's memory.
bool GoesPastCaches(std::span<const char* const> in, const char* out, int64_t bytes);
// Makes other threads see the writes past the caches before any later write.
void FinishPastCaches();

// Returns none when there is no such operation, or not for the dtype. Operations on f16 and bf16
// are computed in f32 and rounded, in loops of their own or, where the processor has none, tile by
// tile.
std::optional<ElementOp> FindElementOp(std::string_view name, plan::DType dtype);

// Conversions between f16 or bf16 and f32.
struct HalfLoops {
  void (*widen)(const void* half, void* f32, int64_t count);
  void (*narrow)(const void* f32, void* half, int64_t count);
};
HalfLoops HalfLoopsOf(plan::DType dtype);

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ELEMENTWISE_ELEMENT_LOOPS_H_
