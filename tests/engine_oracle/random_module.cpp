#include "tests/engine_oracle/random_module.h"

#include <algorithm>

#include "tests/support/plans/flow_plan.h"

namespace cgraph::oracle {
namespace {

using plan::DType;
using plan::testing::FlowPlan;

const plan::testing::Dims kOne = {1};

ModelGraph RandomGraph(std::mt19937& random, uint32_t devices) {
  ModelGraph graph;
  graph.inflight = 1 + random() % 4;
  if (random() % 2 == 0) graph.most_lag = static_cast<uint16_t>(random() % graph.inflight);
  graph.sleeps = random() % 3 == 0;
  const uint32_t count = 1 + random() % 5;
  std::vector<int> lag_of_state(devices, -1);
  uint16_t lag = 0;
  for (uint32_t i = 0; i < count; ++i) {
    ModelCall call;
    call.device = random() % devices;
    // The last call has the most lag.
    if (i + 1 == count) {
      lag = graph.most_lag;
    } else if (lag < graph.most_lag && random() % 2 == 0) {
      ++lag;
    }
    call.lag = lag;
    int& at = lag_of_state[call.device];
    call.touches = at == -1 || at == lag;
    if (call.touches) at = lag;
    call.writes = call.touches && random() % 4 != 0;
    call.fails = random() % 3 == 0;
    graph.calls.push_back(call);
  }
  return graph;
}

// The values of one graph while its plan is made.
struct Inputs {
  uint32_t x, fail, ms;
};

uint32_t AddCall(FlowPlan& flow, const ModelCall& call, uint32_t number, const Inputs& inputs,
                 uint32_t value) {
  const uint32_t d = call.device;
  flow.Lag(call.lag);
  flow.Method(d, "step" + std::to_string(number), 10 + number);
  const uint32_t add = flow.Kernel("add");
  uint32_t state = 0;
  if (call.fails) {  // before another lane may have what the call makes
    const uint32_t well = flow.Scalar("well", d, DType::bool_);
    flow.Call(d, flow.Kernel("not_equal"), {inputs.fail, flow.Constant(d, number)}, {well});
    flow.Call(d, flow.Check("no"), {well}, {});
  }
  const uint32_t out = flow.Tensor("out", d, DType::f32, kOne);
  if (call.touches) {
    state = flow.Tensor("sum", d, DType::f32, kOne);
    if (call.writes) {
      flow.Call(d, add, {flow.State(d), inputs.x}, {state});
    } else {
      flow.Call(d, flow.Kernel("copy"), {flow.State(d)}, {state});
    }
    flow.Call(d, add, {value, state}, {out});
  } else {
    flow.Call(d, flow.Kernel("copy"), {value}, {out});
  }
  if (call.writes) {
    flow.Call(d, flow.Kernel("copy"), {state}, {flow.State(d)}, plan::kCommitsState);
  }
  return out;
}

}  // namespace

Module RandomModule(std::mt19937& random) {
  Module module;
  module.devices = 1 + random() % 3;
  const uint32_t graphs = 1 + random() % 3;
  for (uint32_t g = 0; g < graphs; ++g) {
    module.graphs.push_back(RandomGraph(random, module.devices));
  }
  return module;
}

std::unique_ptr<plan::Plan> MakePlan(const Module& module) {
  FlowPlan flow(module.devices);
  for (uint32_t g = 0; g < module.graphs.size(); ++g) {
    const ModelGraph& graph = module.graphs[g];
    flow.Begin("g" + std::to_string(g), graph.inflight, graph.most_lag);
    const Inputs inputs = {flow.Input("x", DType::f32, kOne), flow.Input("fail"),
                           flow.Input("ms")};
    if (graph.sleeps) {
      flow.Method(graph.calls[0].device, "pause", 1);
      flow.Call(graph.calls[0].device, flow.Kernel("sleep"), {inputs.ms}, {});
    }
    uint32_t value = inputs.x;
    uint32_t device = plan::kNone;
    for (uint32_t i = 0; i < graph.calls.size(); ++i) {
      const ModelCall& call = graph.calls[i];
      if (device != plan::kNone && device != call.device) {
        flow.Lag(call.lag);
        value = flow.Transfer(value, device, call.device, (g + i) % 2);
      }
      device = call.device;
      value = AddCall(flow, call, i, inputs, value);
    }
    flow.Give("y", value);
  }
  return flow.Build();
}

std::optional<float> Oracle::Execute(uint32_t graph, float x, int64_t fail) {
  float value = x;
  const std::vector<ModelCall>& calls = module_.graphs[graph].calls;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].fails && fail == static_cast<int64_t>(i)) return std::nullopt;
    float& state = states_[calls[i].device];
    if (calls[i].writes) state += x;
    if (calls[i].touches) value += state;
  }
  return value;
}

std::string Oracle::FailureOf(uint32_t graph, int64_t fail) const {
  const uint32_t device = module_.graphs[graph].calls[static_cast<size_t>(fail)].device;
  return "a" + std::to_string(device) + ".step" + std::to_string(fail) + " (test.cgraph:" +
         std::to_string(10 + fail) + ":1) failed: no";
}

}  // namespace cgraph::oracle
