// EstimateCosts: how long each step is expected to take, and which resources it holds meanwhile, by
// the cost model.
#include "compiler/cost/costs.h"
#include "compiler/graph/names.h"
#include "compiler/schedule/passes.h"

namespace cgraph::schedule {
namespace {

class CostEstimator {
 public:
  CostEstimator(const graph::Module& module, const graph::Graph& graph, const cost::Costs& costs,
                Schedule& schedule)
      : module_(module), graph_(graph), costs_(costs), schedule_(schedule) {}

  void Set(Step& step) {
    switch (step.kind) {
      case Step::kCall: case Step::kLoad: step.expected_ps = OfOp(step); break;
      case Step::kCopy: Set(step, OfCopy(step)); break;
      case Step::kTransfer: Set(step, OfTransfer(step)); break;
      case Step::kCollective: Set(step, OfCollective(step)); break;
      case Step::kInput: case Step::kOutput: break;
    }
  }

 private:
  static void Set(Step& step, cost::Movement movement) {
    step.expected_ps = movement.ps;
    step.held_ps = movement.held_ps;
    step.holds = std::move(movement.resources);
  }
  LogicalDevice KeyOf(graph::DeviceId id) const { return module_.devices[id]; }
  LogicalDevice KeyOf(LaneId lane) const { return KeyOf(schedule_.lanes[lane].device); }
  LogicalDevice KeyOf(ValueLocationId location) const {
    return KeyOf(schedule_.buffers[schedule_.locations[location].buffer].device);
  }
  int64_t Bytes(ValueLocationId location) const {
    return graph_.values[schedule_.locations[location].value].type.bytes();
  }

  // A collective that the caller computes goes once over all that it reads and writes.
  uint64_t OfOp(const Step& step) const {
    const graph::Op& op = graph_.ops[step.op];
    if (!op.collective) {
      const DType dtype =
          op.results.empty() ? DType::kF32 : graph_.values[op.results[0]].type.dtype;
      uint64_t time = costs_.Kernel(KeyOf(step.lane), op.flops, op.bytes, dtype);
      for (ValueLocationId input : step.inputs) {
        time += costs_.RemoteRead(KeyOf(step.lane), KeyOf(input), Bytes(input));
      }
      return time;
    }
    int64_t bytes = 0;
    for (ValueLocationId input : step.inputs) bytes += Bytes(input);
    for (ValueLocationId output : step.outputs) bytes += Bytes(output);
    return costs_.Kernel(LogicalDevice(), 0, bytes, DType::kF32);
  }

  cost::Movement OfCopy(const Step& step) const {
    return costs_.Copy(KeyOf(step.lane), KeyOf(step.inputs[0]), KeyOf(step.outputs[0]),
                       Bytes(step.inputs[0]));
  }

  cost::Movement OfTransfer(const Step& step) const {
    int64_t bytes = 0;
    for (ValueLocationId input : step.inputs) bytes += Bytes(input);
    return costs_.Message(KeyOf(step.lane), KeyOf(step.to_lane),
                          schedule_.channels[step.channel].transport, bytes);
  }

  cost::Movement OfCollective(const Step& step) const {
    const graph::Collective& collective = *graph_.ops[step.op].collective;
    int64_t bytes = 0;  // what one gives
    for (ValueLocationId input : step.parts[collective.root].inputs) bytes += Bytes(input);
    std::vector<LogicalDevice> participants;
    for (graph::DeviceId device : collective.participants) participants.push_back(KeyOf(device));
    return costs_.Collective(collective.kind, participants, step.by, bytes,
                             collective.root);
  }

  const graph::Module& module_;
  const graph::Graph& graph_;
  const cost::Costs& costs_;
  Schedule& schedule_;
};

}  // namespace

void EstimateCosts(const graph::Module& module, const graph::Graph& graph, const cost::Costs& costs,
                   Schedule& schedule) {
  CostEstimator expectation(module, graph, costs, schedule);
  for (Step& step : schedule.steps) expectation.Set(step);
}

}  // namespace cgraph::schedule
