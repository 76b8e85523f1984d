// Features that a plan may use and this engine does not have.
#ifndef CGRAPH_RUNTIME_LOAD_SUPPORT_H_
#define CGRAPH_RUNTIME_LOAD_SUPPORT_H_

#include "runtime/base/status.h"
#include "runtime/plan/plan.h"

namespace cgraph::engine {

// Returns kUnsupported, with a sentence, for a plan that uses one.
Status CheckSupported(const plan::Plan& plan);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_LOAD_SUPPORT_H_
