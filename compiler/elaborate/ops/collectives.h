// Collectives: what comes of them, by rank.
#ifndef CGRAPH_COMPILER_ELABORATE_OPS_COLLECTIVES_H_
#define CGRAPH_COMPILER_ELABORATE_OPS_COLLECTIVES_H_

#include "compiler/elaborate/expressions/evaluate.h"

namespace cgraph::elaborate {

struct ElaborationContext;

Value CallCollective(ElaborationContext& elaboration, const program::CallCollective& e,
                     Transport via, const Context& context);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_OPS_COLLECTIVES_H_
