// Plans of the usual forms, for tests of everything that reads plans: pipelines, exchanges,
// collectives, lags, captures, extents that travel. All of them prove.
#ifndef CGRAPH_TESTS_SUPPORT_PLANS_SAMPLE_PLANS_H_
#define CGRAPH_TESTS_SUPPORT_PLANS_SAMPLE_PLANS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace cgraph::plan::testing {

struct SamplePlan {
  std::string name;
  std::unique_ptr<Plan> plan;  // with one graph, "main"
};

struct PipelineOptions {
  uint32_t stages = 4;
  uint32_t micro_batches = 8;
  uint32_t inflight = 1;
  uint32_t capacity = 0;  // of the channels; 0: rendezvous
  bool overlap = true;    // communication on lanes of its own
};

// Forward and backward calls ("Stage.forward", "Stage.backward") in the 1F1B order, one stage on
// each gpu, and one update of each stage's state.
std::unique_ptr<Plan> PipelinePlan(const PipelineOptions& options);

// Two devices that send to each other at once. `swapped`: in one of them the receive stands before
// the send, and neither can go on.
std::unique_ptr<Plan> TwoWayPlan(bool swapped = false);

std::vector<SamplePlan> SamplePlans();

// One producer on gpu[0] and one consumer on gpu[1], `messages` messages between them.
// The times are what the plan expects.
std::unique_ptr<Plan> ProducerConsumerPlan(uint32_t capacity, uint32_t messages,
                                           uint64_t produce, uint64_t move, uint64_t consume);

}  // namespace cgraph::plan::testing

#endif  // CGRAPH_TESTS_SUPPORT_PLANS_SAMPLE_PLANS_H_
