// What a plan may say and this engine cannot do.
#ifndef CGRAPH_RUNTIME_ENGINE_LOAD_SUPPORT_H_
#define CGRAPH_RUNTIME_ENGINE_LOAD_SUPPORT_H_

#include "runtime/plan/plan.h"
#include "runtime/status/status.h"

namespace cgraph::engine {

// kUnsupported, with a sentence.
Status CheckSupported(const plan::Plan& plan);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_LOAD_SUPPORT_H_
