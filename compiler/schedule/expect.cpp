// Expect: how long each step is expected to take, by the cost model.
#include "compiler/cost/cost.h"
#include "compiler/schedule/passes.h"

namespace cgraph::schedule {
namespace {

class Expectation {
 public:
  Expectation(const graph::Module& module, const graph::Graph& graph,
              const cost::Topology& topology, const Schedule& schedule)
      : module_(module), graph_(graph), topology_(topology), schedule_(schedule) {}

  uint64_t Of(const Step& step) const {
    switch (step.kind) {
      case Step::kCall: case Step::kLoad: return OfOp(step);
      case Step::kCopy: return OfCopy(step);
      case Step::kTransfer: return OfTransfer(step);
      case Step::kCollective: return OfCollective(step);
      case Step::kTake: case Step::kGive: return 0;
    }
    return 0;
  }

 private:
  bool IsGpu(LaneId lane) const {
    return module_.devices[schedule_.lanes[lane].device].kind == graph::DeviceKind::kGpu;
  }
  int64_t Bytes(ReplicaId replica) const {
    return graph_.values[schedule_.replicas[replica].value].type.bytes();
  }
  graph::DeviceId DeviceOf(ReplicaId replica) const {
    return schedule_.buffers[schedule_.replicas[replica].buffer].device;
  }
  const cost::LinkRates& LinkOf(Transport transport) const {
    return transport == Transport::kNccl ? topology_.nccl : topology_.shm;
  }

  // A collective that the caller computes goes once over all that it reads and writes.
  uint64_t OfOp(const Step& step) const {
    const graph::Op& op = graph_.ops[step.op];
    if (!op.collective) {
      return cost::KernelPicoseconds(IsGpu(step.lane) ? topology_.gpu : topology_.cpu, op.flops,
                                     op.bytes);
    }
    int64_t bytes = 0;
    for (ReplicaId input : step.inputs) bytes += Bytes(input);
    for (ReplicaId output : step.outputs) bytes += Bytes(output);
    return cost::KernelPicoseconds(topology_.cpu, 0, bytes);
  }

  uint64_t OfCopy(const Step& step) const {
    const int64_t bytes = Bytes(step.inputs[0]);
    if (!IsGpu(step.lane)) return cost::TransferPicoseconds(topology_.local_copy, bytes);
    if (DeviceOf(step.inputs[0]) == DeviceOf(step.outputs[0])) {
      return cost::KernelPicoseconds(topology_.gpu, 0, 2 * bytes);
    }
    return cost::TransferPicoseconds(topology_.host, bytes);
  }

  uint64_t OfTransfer(const Step& step) const {
    int64_t bytes = 0;
    for (ReplicaId input : step.inputs) bytes += Bytes(input);
    return cost::TransferPicoseconds(LinkOf(schedule_.channels[step.channel].transport), bytes);
  }

  uint64_t OfCollective(const Step& step) const {
    const graph::Collective& collective = *graph_.ops[step.op].collective;
    int64_t bytes = 0;  // what one gives
    for (ReplicaId input : step.parts[collective.root].inputs) bytes += Bytes(input);
    return cost::CollectivePicoseconds(LinkOf(step.by), collective.kind, step.parts.size(), bytes);
  }

  const graph::Module& module_;
  const graph::Graph& graph_;
  const cost::Topology& topology_;
  const Schedule& schedule_;
};

}  // namespace

void Expect(const graph::Module& module, const graph::Graph& graph,
            const cost::Topology& topology, Schedule& schedule) {
  const Expectation expectation(module, graph, topology, schedule);
  for (Step& step : schedule.steps) step.expected_ps = expectation.Of(step);
}

}  // namespace cgraph::schedule
