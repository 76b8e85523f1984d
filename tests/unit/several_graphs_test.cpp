// Rule 14 before both judges: the prover on the module, the interpreter on its graphs in sequence.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "runtime/plan/prove.h"
#include "tests/engine_oracle/random_module.h"
#include "tests/interpreter/in_sequence.h"
#include "tests/interpreter/interpreter.h"
#include "tests/support/plans/plan_builder.h"

namespace cgraph::plan::testing {
namespace {

using interpreter::Outcome;

Outcome SeenInSequence(const Plan& plan, const std::vector<uint32_t>& graphs) {
  const auto one = interpreter::InSequence(plan, graphs);
  const interpreter::Finding finding =
      interpreter::Interpreter(*one, 0, 6, 1).Search(2, nullptr);
  UNSCOPED_INFO(interpreter::OutcomeName(finding.outcome) << " " << finding.text);
  return finding.outcome;
}

// Two graphs over one state: the second touches it on the first's lane, or on another.
std::unique_ptr<Plan> TwoGraphs(bool one_lane, bool second_writes) {
  PlanBuilder plan;
  const uint32_t device = plan.Device(DeviceKind::gpu, 0);
  const uint32_t lanes[] = {plan.Lane(device, LaneKind::compute),
                            plan.Lane(device, LaneKind::compute)};
  const uint32_t actor = plan.Actor("a", device, {{"n", 4}});
  for (uint32_t i = 0; i < 2; ++i) {
    GraphBuilder& g = plan.Graph("g" + std::to_string(i));
    const uint32_t state = g.State(actor, 0);
    const uint32_t lane = lanes[one_lane ? 0 : i];
    const uint32_t sum = g.Value("sum", device, DType::f32, {4});
    g.Call(lane, plan.Kernel("relu"), {state}, {sum});
    if (i == 0 || second_writes) g.Copy(lane, sum, state);
  }
  return plan.Build();
}

}  // namespace

TEST_CASE("rule 14: what graphs share is touched on one lane, or nothing orders them") {
  for (bool second_writes : {false, true}) {
    const auto one = TwoGraphs(/*one_lane=*/true, second_writes);
    CHECK(Prove(*one).proved());
    CHECK(SeenInSequence(*one, {0, 1}) == Outcome::kOk);
    CHECK(SeenInSequence(*one, {1, 0, 1}) == Outcome::kOk);
    const auto two = TwoGraphs(/*one_lane=*/false, second_writes);
    CHECK(Prove(*two).refusal == Refusal::kGraphs);
    CHECK(SeenInSequence(*two, {0, 1}) != Outcome::kOk);
  }
}

TEST_CASE("rule 14 on random modules: lanes keep the order of graphs but for accesses with lags") {
  int with_lags = 0, without = 0;
  for (uint32_t seed = 1; seed <= 150; ++seed) {
    std::mt19937 random(seed);
    const oracle::Module module = oracle::RandomModule(random);
    if (module.graphs.size() < 2) continue;
    // Tells per device, by graph, whether it touches the state, with which lag, and which graphs
    // write it.
    bool lag = false, differ = false;
    for (uint32_t device = 0; device < module.devices; ++device) {
      std::vector<uint16_t> lags;
      bool written = false;
      for (const oracle::ModelGraph& graph : module.graphs) {
        const auto touch = std::find_if(
            graph.calls.begin(), graph.calls.end(),
            [&](const oracle::ModelCall& call) { return call.touches && call.device == device; });
        if (touch == graph.calls.end()) continue;
        lags.push_back(touch->lag);
        for (const oracle::ModelCall& call : graph.calls) {
          written |= call.writes && call.device == device;
        }
      }
      if (!written || lags.size() < 2) continue;
      lag |= *std::max_element(lags.begin(), lags.end()) != 0;
      differ |= *std::max_element(lags.begin(), lags.end()) !=
                *std::min_element(lags.begin(), lags.end());
    }
    INFO("seed " << seed);
    const auto plan = oracle::MakePlan(module);
    CHECK(Prove(*plan).proved());
    std::vector<uint32_t> graphs(module.graphs.size());
    for (uint32_t g = 0; g < graphs.size(); ++g) graphs[g] = g;
    const Outcome seen = SeenInSequence(*plan, graphs);
    if (!lag) CHECK(seen == Outcome::kOk);
    with_lags += differ && seen != Outcome::kOk;
    without += !lag;
  }
  CHECK(with_lags >= 10);  // so who runs the plan has to wait there
  CHECK(without >= 10);
}

}  // namespace cgraph::plan::testing
