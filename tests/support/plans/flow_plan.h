// Plans that run: PlanBuilder with the waits that program order needs, kernels with attributes, and
// a lane each for taking, giving and every gpu. What it builds proves.
//
//   FlowPlan flow(/*devices=*/2);
//   flow.Begin("main", /*inflight=*/2);
//   uint32_t x = flow.Input("x");
//   uint32_t y = flow.Scalar("y", 0);
//   flow.Call(0, flow.Kernel("add"), {x, x}, {y});
//   flow.Give("y", y);
//   std::unique_ptr<Plan> plan = flow.Build();
//
// All values are i64 scalars unless said otherwise. Devices are gpu[0..], actors one per device
// with a state variable of one f32.
#ifndef CGRAPH_TESTS_SUPPORT_PLANS_FLOW_PLAN_H_
#define CGRAPH_TESTS_SUPPORT_PLANS_FLOW_PLAN_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "tests/support/plans/plan_builder.h"

namespace cgraph::plan::testing {

class FlowPlan {
 public:
  explicit FlowPlan(uint32_t devices);

  // `most_lag` (less than inflight): the greatest lag that Lag() sets later.
  void Begin(const std::string& graph, uint32_t inflight = 1, uint16_t most_lag = 0);
  // Sets the lag of what is added from here on: it works for the execution that began `lag` rounds
  // before. Lags do not fall, and all accesses to one state have one lag.
  void Lag(uint16_t lag) { lag_ = lag; }
  std::unique_ptr<Plan> Build();

  uint32_t Kernel(const std::string& name);  // made once
  uint32_t Check(const std::string& message);

  // Make values of the graph that was begun last. `device` counts the gpus.
  uint32_t Input(const std::string& name, DType dtype = DType::i64, const Dims& dims = {});
  uint32_t Scalar(const std::string& name, uint32_t device, DType dtype = DType::i64);
  uint32_t Tensor(const std::string& name, uint32_t device, DType dtype, const Dims& dims);
  uint32_t Constant(uint32_t device, int64_t number);
  uint32_t State(uint32_t device);           // f32[1]

  void Method(uint32_t device, const std::string& method, uint32_t line);
  void Call(uint32_t device, uint32_t kernel, const std::vector<uint32_t>& inputs,
            const std::vector<uint32_t>& outputs, uint8_t flags = 0);
  // Makes a rendezvous (capacity 0) or buffered transfer; returns the value at `to`.
  uint32_t Transfer(uint32_t value, uint32_t from, uint32_t to, uint32_t capacity = 0);
  void Give(const std::string& name, uint32_t value);  // copied to the output by the caller's lane

  GraphBuilder& graph() { return *graph_; }
  PlanBuilder& plan() { return plan_; }
  uint32_t compute(uint32_t device) const { return compute_[device]; }

 private:
  void Reads(uint32_t lane, uint32_t value);
  void Wrote(uint32_t lane, const std::vector<uint32_t>& values);
  void End();

  struct Written {
    uint32_t lane;
    uint32_t event;
    uint16_t lag;
    std::map<uint32_t, uint16_t> seen_by;  // with the least lag of a wait
  };
  struct Given {
    std::string name;
    uint32_t value;
    uint16_t lag;
  };
  PlanBuilder plan_;
  uint32_t take_, give_;
  std::vector<uint32_t> devices_, compute_, comm_, actors_;
  std::map<std::string, uint32_t> kernels_;
  GraphBuilder* graph_ = nullptr;
  std::map<uint32_t, Written> written_;
  std::map<uint32_t, uint32_t> ends_;  // lane -> event at its end
  std::map<std::vector<uint32_t>, uint32_t> channels_;
  std::vector<Given> gives_;
  uint16_t lag_ = 0;
};

}  // namespace cgraph::plan::testing

#endif  // CGRAPH_TESTS_SUPPORT_PLANS_FLOW_PLAN_H_
