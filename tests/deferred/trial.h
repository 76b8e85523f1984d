// Trials: plans that are run under a seed of the deferred device, each in a process of its own, and
// what a program over them sees.
#ifndef CGRAPH_TESTS_DEFERRED_TRIAL_H_
#define CGRAPH_TESTS_DEFERRED_TRIAL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/plan/plan.h"
#include "tests/support/plans/flow_plan.h"

namespace cgraph::testing {

struct Scenario {
  std::string name;
  std::unique_ptr<plan::Plan> plan;
};

// The sum of two numbers, on a device.
uint32_t Add(plan::testing::FlowPlan& flow, uint32_t device, uint32_t a, uint32_t b);

Scenario Chain(uint32_t devices, uint32_t inflight, uint32_t capacity);
Scenario Failing();
std::vector<Scenario> Scenarios();

// An input of execution x: small numbers, others in every execution; dimensions at their bounds.
struct Filled {
  std::vector<int64_t> dims;
  std::vector<uint8_t> bytes;
  Input input;

  Filled(const plan::Graph& graph, const plan::Port& port, int64_t x);
};

// Its bytes.
std::string Text(const device::Tensor& tensor);

// What a program over the plan sees: executions of all its graphs in turn, fetched late.
std::string Outcome(const plan::Plan& plan, EngineOptions options);

// Whether a process that runs `same` under this seed (0: on the CPU) says that nothing is
// different.
bool Same(uint64_t seed, const std::function<bool()>& same);

}  // namespace cgraph::testing

#endif  // CGRAPH_TESTS_DEFERRED_TRIAL_H_
