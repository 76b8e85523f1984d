// Methods that no graph calls: elaborated for their mistakes alone.
//
// A call would say what a method's free dimensions are. Without one they are unknown, so only what
// is wrong whatever they are is reported: static dimensions that differ, indices out of range. What
// an actor's parameters make wrong is reported only when it is wrong at each of its places.
#ifndef CGRAPH_COMPILER_ELABORATE_UNCALLED_H_
#define CGRAPH_COMPILER_ELABORATE_UNCALLED_H_

#include <set>

#include "compiler/elaborate/elaboration_context.h"

namespace cgraph::elaborate {

void CheckUncalledMethods(const program::Program& program, const ElaborateOptions& options,
                          const std::set<program::MethodId>& called, Diagnostics& diagnostics);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_UNCALLED_H_
