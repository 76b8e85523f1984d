// DeviceFailures: ends the engine where a device has failed as a whole.
#ifndef CGRAPH_RUNTIME_ENGINE_DEVICE_FAILURES_H_
#define CGRAPH_RUNTIME_ENGINE_DEVICE_FAILURES_H_

#include "runtime/base/status.h"
#include "runtime/engine/ending.h"
#include "runtime/engine/ranks/ranks.h"
#include "runtime/load/loaded_plan.h"

namespace cgraph::engine {

class DeviceFailures {
 public:
  DeviceFailures(const LoadedPlan& loaded, Ranks& ranks, Ending& ending)
      : loaded_(loaded), ranks_(ranks), ending_(ending) {}

  // Ends the engine with the error of a device that has failed, if any has: perhaps the report of
  // it has not been heard yet.
  void EndWhereAny();
  // Ends the engine with the error of a device; where another rank is gone, of which the error may
  // be a consequence, that is said instead.
  void EndBy(Status failure);

 private:
  const LoadedPlan& loaded_;
  Ranks& ranks_;
  Ending& ending_;
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_DEVICE_FAILURES_H_
