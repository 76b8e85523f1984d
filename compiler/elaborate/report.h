// Diagnostics with what surrounds them (iterations, calls), and how values and types are written in
// them.
#ifndef CGRAPH_COMPILER_ELABORATE_REPORT_H_
#define CGRAPH_COMPILER_ELABORATE_REPORT_H_

#include <string>

#include "compiler/base/diagnostics/diagnostics.h"
#include "compiler/elaborate/frame.h"
#include "compiler/elaborate/values/value.h"
#include "llvm/ADT/ArrayRef.h"

namespace cgraph::elaborate {

struct ElaborationContext;

Diagnostic& Report(ElaborationContext& elaboration, Code code, Range range, std::string message);

// What to blame for a fault in an op's declaration: the call of the op.
Range SiteOr(const ElaborationContext& elaboration, Range range);

// "f32[n <= 64, 10]".
std::string Text(const ElaborationContext& elaboration, const graph::Type& type);

// What a value is: a tensor's type, "an int (3)", "a list of 3".
std::string Describe(const ElaborationContext& elaboration, const Value& value);

// Returns "`n` is known only while running (at most 8)" of an extent's value; empty of any other.
std::string LateText(const ElaborationContext& elaboration, const Value& value);

// The same of the first dimension that has no number yet; empty where all have one.
std::string LateText(const ElaborationContext& elaboration, llvm::ArrayRef<graph::Dim> dims);

// A type, or a dimension, as it was declared.
std::string Declared(const ElaborationContext& elaboration, program::TypeId type,
                     const Frame& frame);

std::string Declared(const ElaborationContext& elaboration, program::ExprId dim,
                     const Frame& frame);

// "parameter `x` of `matmul`".
std::string Describe(const ElaborationContext& elaboration, const Subject& subject,
                     const Frame& frame);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_REPORT_H_
