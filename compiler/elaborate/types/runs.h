// Runs of dimensions (`*s`), what is computed from them (broadcast, permuted, drop), and the
// numbers they give (rank, size, width).
#ifndef CGRAPH_COMPILER_ELABORATE_TYPES_RUNS_H_
#define CGRAPH_COMPILER_ELABORATE_TYPES_RUNS_H_

#include <optional>

#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/frame.h"

namespace cgraph::elaborate {

struct ElaborationContext;

// Whether an expression is a run of dimensions.
bool IsRun(const ElaborationContext& elaboration, program::ExprId id, const Frame& frame);

std::optional<Dims> EvaluateRun(ElaborationContext& elaboration, program::ExprId id, Frame& frame);

// size, rank and width: dimensions as numbers.
Value DimFunction(ElaborationContext& elaboration, const program::CallBuiltin& e,
                  const Context& context);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_TYPES_RUNS_H_
