// TryPlan: a plan's bytes through every reader of plans: the loader, the check, the printers, the
// simulator, the prover, and the engine, which then executes every graph once on zeros. Whatever
// the bytes are, there is an error, or a proof and results; for tests that make hostile ones.
#ifndef CGRAPH_TESTS_SUPPORT_PLANS_PLAN_TRIAL_H_
#define CGRAPH_TESTS_SUPPORT_PLANS_PLAN_TRIAL_H_

#include <cstdint>
#include <span>

namespace cgraph::plan::testing {

enum class TrialEnd {
  kNoPlan,      // refused by FromBytes
  kNotChecked,  // by CheckPlan
  kNotProved,
  kTooLarge,    // proved; running it would be honest work, but too much for a test
  kNotLoaded,   // proved, and refused by the engine
  kRan,
};
TrialEnd TryPlan(std::span<const uint8_t> bytes);

}  // namespace cgraph::plan::testing

#endif  // CGRAPH_TESTS_SUPPORT_PLANS_PLAN_TRIAL_H_
