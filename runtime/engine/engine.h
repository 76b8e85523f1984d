// The engine (cgraph/engine.h), for code of ours, which reads plans and traces, too.
#ifndef CGRAPH_RUNTIME_ENGINE_ENGINE_H_
#define CGRAPH_RUNTIME_ENGINE_ENGINE_H_

#include <cgraph/engine.h>

#include "runtime/base/status.h"
#include "runtime/device/kernel.h"
#include "runtime/engine/options.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/trace.h"

#endif  // CGRAPH_RUNTIME_ENGINE_ENGINE_H_
