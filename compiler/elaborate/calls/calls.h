// Bodies that are run in place of a call: fns, graphs, methods with their state.
#ifndef CGRAPH_COMPILER_ELABORATE_CALLS_CALLS_H_
#define CGRAPH_COMPILER_ELABORATE_CALLS_CALLS_H_

#include "compiler/elaborate/frame.h"

namespace cgraph::elaborate {

struct ElaborationContext;

// Runs a body whose parameters are bound; the result has the declared type.
Value CallBody(ElaborationContext& elaboration, const program::Signature& signature,
               const program::Body& body, Frame& callee, Range site);

// Returns what the body that was run in `callee` has returned, as one of the declared type.
Value ResultOf(ElaborationContext& elaboration, const program::Signature& signature, Frame& callee);

// Returns a result, travelling as the signature says.
Value Travelling(ElaborationContext& elaboration, const program::Signature& signature,
                 const Value& result, Range site);

// Runs a body, its result travelling as the signature says.
Value RunBody(ElaborationContext& elaboration, const program::Signature& signature,
              const program::Body& body, Frame& callee, Range site);

// Native code, as one op: it takes the arguments, the states that the method names, and the actor's
// object; its costs are those that the method states, else the bytes of all of these.
Value CallExtern(ElaborationContext& elaboration, const program::Method& method, Frame& callee,
                 Range site);

// Makes a call of a method with `grad by auto` keep what its gradients need, for a later
// CallAutograd; `wanted`: the places, among what the method is given, of the arguments that get a
// gradient. Returns false where it does so already, for other gradients.
bool KeepForAutograd(ElaborationContext& elaboration, const program::Method& method, graph::OpId op,
                     const std::vector<int64_t>& wanted);

// AutogradCall: goes back through a call of such a method.
struct AutogradCall {
  graph::OpId forward;
  std::vector<std::pair<int64_t, Tensor>> gradients;  // of results, by their places
  std::vector<graph::Type> types;                     // of the arguments that get a gradient
};
// Returns the gradients of these arguments; nothing where that is reported.
std::vector<Tensor> CallAutograd(ElaborationContext& elaboration, const program::Method& method,
                                 const AutogradCall& call, Range site);

// The object that native methods of an instance share is made once, before anything runs.
void CreateObject(ElaborationContext& elaboration, graph::InstanceId id);

// What the method's body sees before its parameters are bound: those of its actor.
Frame FrameOf(const ElaborationContext& elaboration, const program::Method& method,
              graph::InstanceId id);

// ---- state: read as what was written last, written when the call is over

// The state's tensors at this instance: a tree with StateLeaf leaves.
const Value& LayoutOf(const ElaborationContext& elaboration, program::StateId state,
                      const Frame& frame);

Tensor ReadState(ElaborationContext& elaboration, graph::StateId state);

Value ReadStates(ElaborationContext& elaboration, Range range, const Value& layout);

// `value` has the shape of `layout`: Coerce has seen to it. `range`: the statement that writes.
void StoreState(ElaborationContext& elaboration, const Value& layout, const Value& value,
                Range range);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_CALLS_CALLS_H_
