// Unification: the dimensions a tensor has against the dimensions a declaration asks for.
//
// A dimension variable is bound where it is first met and compared afterwards; a run `*s` takes
// what the other dimensions leave. A computed dimension (`H / T`) waits until every parameter is
// bound. Two bounded dimensions are equal only when they are the same symbol.
#ifndef CGRAPH_COMPILER_ELABORATE_TYPES_UNIFY_H_
#define CGRAPH_COMPILER_ELABORATE_TYPES_UNIFY_H_

#include "compiler/elaborate/frame.h"

namespace cgraph::elaborate {

struct ElaborationContext;

struct Match {
  program::TypeId type;
  const graph::Type& actual;
  Frame& frame;
  const Subject& subject;
  Range range;
  bool is_number = false;  // one of the compile time, without dimensions
};

bool MatchDims(ElaborationContext& elaboration, const Match& match);

// What waited for all parameters to be bound.
bool CheckDeferred(ElaborationContext& elaboration, Frame& frame);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_TYPES_UNIFY_H_
