// Eval: one function per kind of expression. Only Evaluate() calls them; it chooses by the kind.
#ifndef CGRAPH_COMPILER_ELABORATE_EXPRESSIONS_EVAL_H_
#define CGRAPH_COMPILER_ELABORATE_EXPRESSIONS_EVAL_H_

#include "compiler/elaborate/expressions/evaluate.h"

namespace cgraph::elaborate {

struct ElaborationContext;

// expressions/literals.cpp
Value Eval(ElaborationContext& elaboration, const program::IntLiteral& e, const Context& context);
Value Eval(ElaborationContext& elaboration, const program::FloatLiteral& e, const Context& context);
Value Eval(ElaborationContext& elaboration, const program::BoolLiteral& e, const Context& context);
Value Eval(ElaborationContext& elaboration, const program::NoneLiteral& e, const Context& context);
Value Eval(ElaborationContext& elaboration, const program::StringLiteral& e,
           const Context& context);
Value Eval(ElaborationContext& elaboration, const program::Tuple& e, const Context& context);
Value Eval(ElaborationContext& elaboration, const program::List& e, const Context& context);

// expressions/names.cpp
Value Eval(ElaborationContext& elaboration, const program::LocalRef& e, const Context& context);
Value Eval(ElaborationContext& elaboration, const program::ConstRef& e, const Context& context);
Value Eval(ElaborationContext& elaboration, const program::PlaceRef& e, const Context& context);
Value Eval(ElaborationContext& elaboration, const program::DimRef& e, const Context& context);
Value Eval(ElaborationContext& elaboration, const program::GenericRef& e, const Context& context);
Value Eval(ElaborationContext& elaboration, const program::DeviceRef& e, const Context& context);

// expressions/operators.cpp
Value Eval(ElaborationContext& elaboration, const program::Unary& e, const Context& context);
Value Eval(ElaborationContext& elaboration, const program::Chain& e, const Context& context);
Value Eval(ElaborationContext& elaboration, const program::If& e, const Context& context);

// expressions/modifiers.cpp
Value Eval(ElaborationContext& elaboration, const program::Via& e, const Context& context);
Value Eval(ElaborationContext& elaboration, const program::On& e, const Context& context);
Value Eval(ElaborationContext& elaboration, const program::After& e, const Context& context);

// expressions/iterate.cpp
Value Eval(ElaborationContext& elaboration, const program::Comprehension& e,
           const Context& context);

// expressions/lists.cpp
Value Eval(ElaborationContext& elaboration, const program::CallBuiltin& e, const Context& context);

// expressions/parts.cpp
Value Eval(ElaborationContext& elaboration, const program::Field& e, const Context& context);
Value Eval(ElaborationContext& elaboration, const program::Index& e, const Context& context);

// calls/call_body.cpp
Value Eval(ElaborationContext& elaboration, const program::CallFn& e, const Context& context);
Value Eval(ElaborationContext& elaboration, const program::CallGraph& e, const Context& context);

// calls/state.cpp
Value Eval(ElaborationContext& elaboration, const program::StateRef& e, const Context& context);

// calls/call_method.cpp
Value Eval(ElaborationContext& elaboration, const program::CallMethod& e, const Context& context);

// ops/call_op.cpp
Value Eval(ElaborationContext& elaboration, const program::CallOp& e, const Context& context);
Value Eval(ElaborationContext& elaboration, const program::Cast& e, const Context& context);

// ops/collectives.cpp
Value Eval(ElaborationContext& elaboration, const program::CallCollective& e,
           const Context& context);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_EXPRESSIONS_EVAL_H_
