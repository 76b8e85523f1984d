// Declared dimensions to concrete ones.
//
// A dimension is an integer expression, evaluated like any other but with exact division; or a name
// that stands for an extent, perhaps one that is known only while running; or a run of dimensions.
#ifndef CGRAPH_COMPILER_ELABORATE_TYPES_DIMS_H_
#define CGRAPH_COMPILER_ELABORATE_TYPES_DIMS_H_

#include <optional>

#include "compiler/elaborate/frame.h"

namespace cgraph::elaborate {

struct Work;

// Whether everything that a dimension's expression mentions has a value.
bool IsKnown(const Work& work, program::ExprId id, const Frame& frame);

bool IsKnown(const Work& work, const program::TensorType& type, const Frame& frame);

// Follows conditions that are known: `if transpose { k } else { m }` is the dimension it chooses.
program::ExprId Reduce(Work& work, program::ExprId id, Frame& frame);

std::optional<graph::Dim> EvaluateDim(Work& work, program::ExprId id, Frame& frame);

std::optional<int64_t> EvaluateDimInt(Work& work, program::ExprId id, Frame& frame,
                                      const char* what);

std::optional<graph::Type> ConcreteType(Work& work, const program::TensorType& type, Frame& frame,
                                        Range range);

// The tensor type that is expected, when everything in it has a value.
const program::Type* ExpectedTensor(const Work& work, const Expected& expected);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_TYPES_DIMS_H_
