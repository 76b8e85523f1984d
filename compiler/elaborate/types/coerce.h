// Values against declared types: parameters, results, hints, states.
//
// One recursion serves all of them. It binds the dimension variables and generic dtypes of the
// declaration's frame, makes a constant of a compile-time number where a tensor is declared, and
// gives a tuple the field names that its type declares.
#ifndef CGRAPH_COMPILER_ELABORATE_TYPES_COERCE_H_
#define CGRAPH_COMPILER_ELABORATE_TYPES_COERCE_H_

#include <optional>
#include <string>

#include "compiler/elaborate/frame.h"
#include "compiler/elaborate/values/value.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace cgraph::elaborate {

struct ElaborationContext;

// The value as one of the declared type, whose frame is `frame`.
Value Coerce(ElaborationContext& elaboration, const Value& value, program::TypeId type_id,
             Frame& frame, const Subject& subject, Range range);

// The same for a hint or a result, which may name dimensions anew in each iteration.
Value AdaptHint(ElaborationContext& elaboration, const Value& value, program::TypeId type,
                Frame& frame, const Subject& subject, Range range);

// A value of a declared list or tuple, whose parts `make` makes, each of its type and by its name:
// "xs[3]", "pair.x". Nothing where another type is declared.
std::optional<Value> MakeParts(
    ElaborationContext& elaboration, const program::Type& type, const std::string& name,
    Frame& frame, llvm::function_ref<Value(program::TypeId, const std::string&)> make);

// Whether the dtype is the declared one; binds a generic.
bool BindDType(ElaborationContext& elaboration, const program::TensorType& type, DType dtype,
               Frame& frame, const Subject& subject, Range range);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_TYPES_COERCE_H_
