// Bodies that are run in place of a call: fns, graphs, methods.
#ifndef CGRAPH_COMPILER_ELABORATE_CALLS_CALL_BODY_H_
#define CGRAPH_COMPILER_ELABORATE_CALLS_CALL_BODY_H_

#include "compiler/elaborate/frame.h"

namespace cgraph::elaborate {

struct ElaborationContext;

// Runs a body whose parameters are bound; the result has the declared type.
Value CallBody(ElaborationContext& elaboration, const program::Signature& signature,
               const program::Body& body, Frame& callee, Range site);

// The same, its result travelling as the signature says.
Value RunBody(ElaborationContext& elaboration, const program::Signature& signature,
              const program::Body& body, Frame& callee, Range site);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_CALLS_CALL_BODY_H_
