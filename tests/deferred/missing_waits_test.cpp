// Every wait is needed: leaves out each wait of small plans in turn, and each of the engine's own
// (runtime/engine/omission.h), and sees that a run on deferred devices notices.
//
// A wait that the prover does without, since others imply it, is *implied*: leaving it out changes
// nothing. Every other one must be noticed under some seed: another result, a failure, or a run that
// hangs or crashes. What cannot be is listed with the reason.
//
// Each trial runs in a process of its own.
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <functional>
#include <map>

#include "runtime/engine/engine.h"
#include "runtime/engine/omission.h"
#include "runtime/plan/prove.h"
#include "tests/support/deferred/deferred.h"
#include "tests/support/plans/flow_plan.h"

namespace cgraph::testing {
namespace {

using engine::Omission;
using plan::DType;
using plan::testing::FlowPlan;

constexpr uint64_t kSeeds = 60;      // tried for each wait, until one notices
constexpr int64_t kExecutions = 10;  // of each graph

struct Scenario {
  std::string name;
  std::unique_ptr<plan::Plan> plan;
};

uint32_t Add(FlowPlan& flow, uint32_t device, uint32_t a, uint32_t b) {
  const uint32_t sum = flow.Scalar("sum", device);
  flow.Call(device, flow.Kernel("add"), {a, b}, {sum});
  return sum;
}

// x goes over the devices and comes back; every second call is a chain of its own.
Scenario Chain(uint32_t devices, uint32_t inflight, uint32_t capacity) {
  FlowPlan flow(devices);
  flow.Begin("chain", inflight);
  uint32_t at = flow.Input("x"), aside = plan::kNone;
  for (uint32_t i = 0; i < 5; ++i) {
    const uint32_t device = i % devices;
    if (i != 0 && devices != 1) {
      at = flow.Transfer(at, (i - 1) % devices, device, capacity);
    }
    at = Add(flow, device, at, flow.Constant(device, i + 1));
    if (i == 1) aside = Add(flow, device, at, at);
  }
  flow.Give("y", at);
  flow.Give("z", aside);
  return {"a chain over " + std::to_string(devices) + ", inflight " + std::to_string(inflight) +
              ", capacity " + std::to_string(capacity),
          flow.Build()};
}

// Two graphs over one state: one adds to it and sends what it was, the other reads it.
Scenario States() {
  FlowPlan flow(2);
  flow.Begin("add", 2);
  const uint32_t x = flow.Input("x");
  const uint32_t number = flow.Tensor("number", 0, DType::f32, {1});
  const uint32_t sum = flow.Tensor("sum", 0, DType::f32, {1});
  const uint32_t whole = flow.Scalar("whole", 0);
  flow.Call(0, flow.Kernel("copy"), {flow.State(0)}, {number});
  flow.Call(0, flow.Kernel("add"), {number, flow.State(0)}, {sum});
  flow.Call(0, flow.Kernel("copy"), {sum}, {flow.State(0)}, plan::kCommitsState);
  flow.Call(0, flow.Kernel("add"), {x, flow.Constant(0, 1)}, {whole});
  const uint32_t moved = flow.Transfer(whole, 0, 1);
  flow.Give("y", Add(flow, 1, moved, flow.Constant(1, 2)));
  flow.Give("state", number);
  flow.Begin("read", 2);
  const uint32_t seen = flow.Tensor("seen", 0, DType::f32, {1});
  flow.Call(0, flow.Kernel("copy"), {flow.State(0)}, {seen});
  flow.Give("seen", seen);
  return {"two graphs over one state", flow.Build()};
}

std::vector<Scenario> Scenarios() {
  std::vector<Scenario> all;
  all.push_back(Chain(1, 2, 0));
  all.push_back(Chain(2, 1, 0));
  all.push_back(Chain(2, 2, 0));
  all.push_back(Chain(3, 2, 1));
  all.push_back(States());
  return all;
}

// What a program over the plan sees: executions of all its graphs in turn, fetched late.
std::string Outcome(const plan::Plan& plan, bool proved) {
  EngineOptions options;
  options.proved = proved;
  options.stall_timeout = std::chrono::seconds(2);
  auto engine = Engine::Load(std::make_unique<plan::Plan>(plan), options);
  if (!engine.ok()) return engine.status().message();
  std::vector<Execution> executions;
  for (int64_t x = 0; x < kExecutions; ++x) {
    for (uint32_t g = 0; g < plan.graphs.size(); ++g) {
      const int64_t number = 1000 * x;
      const Input input{"x", &number, DType::i64, {}};
      auto execution = (*engine)->Execute(
          g, plan.graphs[g]->inputs.empty() ? std::span<const Input>() : std::span(&input, 1));
      if (!execution.ok()) return execution.status().message();
      executions.push_back(std::move(*execution));
    }
  }
  std::string seen;
  for (Execution& execution : executions) {
    auto outputs = execution.Get();
    if (!outputs.ok()) return seen + outputs.status().message();
    for (size_t o = 0; o < outputs->size(); ++o) {
      const device::Tensor& tensor = (*outputs)[o];
      seen += std::to_string(tensor.dtype == DType::f32 ? *tensor.as<float>()
                                                        : *tensor.as<int64_t>());
      seen += ' ';
    }
  }
  return seen;
}

// Whether a process that runs `same` under this seed says that nothing is different.
bool Same(uint64_t seed, const std::function<bool()>& same) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    DeferAllEngines(seed);
    _exit(same() ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool Noticed(const std::function<bool()>& same) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    if (!Same(seed, same)) return true;
  }
  return false;
}

// A wait so far back that it never waits.
std::unique_ptr<plan::Plan> Without(const plan::Plan& plan, uint32_t graph, uint32_t wait) {
  auto mutant = std::make_unique<plan::Plan>(plan);
  plan::Wait& at = mutant->graphs[graph]->waits[wait];
  at = plan::Wait(at.event(), UINT16_MAX);
  return mutant;
}

}  // namespace

TEST_CASE("what is whole gives the same under every seed") {
  for (const Scenario& scenario : Scenarios()) {
    INFO(scenario.name);
    REQUIRE(plan::Prove(*scenario.plan).proved());
    const std::string expected = Outcome(*scenario.plan, true);
    for (bool proved : {true, false}) {
      CAPTURE(proved);
      REQUIRE(!Noticed([&] { return Outcome(*scenario.plan, proved) == expected; }));
    }
  }
}

TEST_CASE("a wait that a plan lacks is noticed") {
  uint32_t implied = 0, noticed = 0;
  std::map<std::string, uint32_t> missed;
  for (const Scenario& scenario : Scenarios()) {
    const std::string expected = Outcome(*scenario.plan, true);
    for (uint32_t g = 0; g < scenario.plan->graphs.size(); ++g) {
      for (uint32_t w = 0; w < scenario.plan->graphs[g]->waits.size(); ++w) {
        const auto mutant = Without(*scenario.plan, g, w);
        if (plan::Prove(*mutant).proved()) {
          ++implied;
        } else if (Noticed([&] { return Outcome(*mutant, false) == expected; })) {
          ++noticed;
        } else {
          const plan::Wait& wait = scenario.plan->graphs[g]->waits[w];
          const std::string why = plan::Prove(*mutant).message;
          WARN(scenario.name << ": wait " << w << " of graph " << g << " for event "
                             << wait.event() << " of " << wait.lag()
                             << " rounds before was not noticed: " << why);
          ++missed[scenario.name];
        }
      }
    }
  }
  WARN(implied << " implied, " << noticed << " noticed");
  CHECK(noticed > 0);
  CHECK(missed.empty());
}

TEST_CASE("a wait that the engine lacks is noticed") {
  uint32_t implied = 0, noticed = 0;
  const auto notices = [&](const Scenario& scenario, const std::string& expected, Omission what,
                           uint32_t which) {
    return Noticed([&] {
      engine::omitted = {what, which};
      return Outcome(*scenario.plan, true) == expected;
    });
  };
  for (const Scenario& scenario : Scenarios()) {
    INFO(scenario.name);
    const std::string expected = Outcome(*scenario.plan, true);
    CHECK(notices(scenario, expected, Omission::kCompletion, 0));
    size_t most = 0;
    for (const auto& graph : scenario.plan->graphs) most = std::max(most, graph->waits.size());
    for (uint32_t kept = 0; kept < most; ++kept) {
      ++(notices(scenario, expected, Omission::kKeptWait, kept) ? noticed : implied);
    }
  }
  WARN("of waits that the reduction keeps " << noticed << " are noticed and " << implied
                                            << " are implied or not there");
  CHECK(noticed > 0);
}

}  // namespace cgraph::testing
