// Declared dimensions to concrete ones.
//
// A dimension is an integer expression, evaluated like any other but with exact division; or a name
// that stands for an extent, perhaps one that is known only while running; or a run of dimensions.
#ifndef CGRAPH_COMPILER_ELABORATE_TYPES_DIMS_H_
#define CGRAPH_COMPILER_ELABORATE_TYPES_DIMS_H_

#include <optional>

#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/frame.h"

namespace cgraph::elaborate {

struct ElaborationContext;

// Whether everything that a dimension's expression mentions has a value.
bool IsKnown(const ElaborationContext& elaboration, program::ExprId id, const Frame& frame);

bool IsKnown(const ElaborationContext& elaboration, const program::TensorType& type,
             const Frame& frame);

// Follows conditions that are known: `if transpose { k } else { m }` is the dimension it chooses.
program::ExprId Reduce(ElaborationContext& elaboration, program::ExprId id, Frame& frame);

// Returns the dimension whose extent a value is, where that is known only while running.
std::optional<graph::Dim> DimOfExtent(const ElaborationContext& elaboration, const Value& value);

std::optional<graph::Dim> EvaluateDim(ElaborationContext& elaboration, program::ExprId id,
                                      Frame& frame);

std::optional<int64_t> EvaluateDimInt(ElaborationContext& elaboration, program::ExprId id,
                                      Frame& frame, const char* what);

std::optional<graph::Type> ConcreteType(ElaborationContext& elaboration,
                                        const program::TensorType& type, Frame& frame, Range range);

// The tensor type that is expected, when everything in it has a value.
const program::Type* ExpectedTensor(const ElaborationContext& elaboration,
                                    const Expected& expected);

// ---- runs of dimensions (`*s`), what is computed from them (broadcast, permuted, drop), and the
// numbers they give (rank, size, width)

// Whether an expression is a run of dimensions.
bool IsRun(const ElaborationContext& elaboration, program::ExprId id, const Frame& frame);

std::optional<Dims> EvaluateRun(ElaborationContext& elaboration, program::ExprId id, Frame& frame);

// size, rank and width: dimensions as numbers.
Value DimFunction(ElaborationContext& elaboration, const program::CallBuiltin& e,
                  const Context& context);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_TYPES_DIMS_H_
