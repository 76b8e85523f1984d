// A plan's bytes through every reader of plans.
#include <cstddef>
#include <cstdint>

#include "tests/support/plans/plan_trial.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cgraph::plan::testing::TryPlan({data, size});
  return 0;
}
