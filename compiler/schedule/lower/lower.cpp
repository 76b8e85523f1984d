// Lower: every value gets a place in memory wherever it is read, and every op, transfer, copy, take
// and give becomes a step of one lane (a transfer of two).
//
// A value lies at its home, and a use elsewhere makes a replica there, once per destination and
// transport; where the transport is `local` the consumer reads the producer's memory. Extents are
// values of their own: whoever touches a tensor with a symbol in its type reads the symbol's extent
// on its own device, so the extent travels there first. State is touched by its actor's compute
// lane only: what leaves it is first copied by that lane.
#include <algorithm>
#include <set>

#include "compiler/base/kernels.h"
#include "compiler/schedule/lower/collectives.h"
#include "compiler/schedule/lower/work.h"
#include "compiler/schedule/passes.h"

namespace cgraph::schedule {
namespace {

using graph::OpId;
using graph::ValueId;

// `taken`: the symbols whose extent a take has made.
void AddTake(Work& work, uint32_t port, std::set<graph::SymbolId>& taken) {
  const ValueId value = work.graph.inputs[port].use.value;
  std::vector<ReplicaId> made = {work.values.AtHome(value, kCaller)};
  for (const graph::Dim& dim : work.graph.values[value].type.dims) {
    if (!dim.symbol.valid() || !taken.insert(dim.symbol).second) continue;
    const ValueId extent = work.graph.symbols[dim.symbol].extent;
    if (!work.facts.IsPort(extent)) made.push_back(work.values.AtHome(extent, kCaller));
  }
  std::vector<ReplicaId> extents = work.values.Extents(made, kCaller, 0);
  std::erase_if(extents, [&](ReplicaId id) {
    return std::find(made.begin(), made.end(), id) != made.end();
  });
  work.schedule.inputs.push_back(made[0]);
  const LaneId lane = work.tables.LaneOf(kCaller, LaneKind::kTake);
  Step& step = work.tables.AddStep(Step::kTake, lane, {.consumer = port});
  step.port = port;
  step.outputs = std::move(made);
  step.extents = std::move(extents);
}

void AddOp(Work& work, OpId id) {
  const graph::Op& op = work.graph.ops[id];
  if (op.collective) return AddCollective(work, id);
  const Step::Place place{.call = work.facts.PlaceOf(id), .consumer = id.index};
  std::vector<ReplicaId> inputs, outputs;
  for (const graph::Use& use : op.operands) {
    inputs.push_back(work.values.Reach(use, op.device, place));
  }
  for (ValueId result : op.results) outputs.push_back(work.values.AtHome(result, op.device));
  std::vector<ReplicaId> touched = inputs;
  touched.insert(touched.end(), outputs.begin(), outputs.end());
  std::vector<ReplicaId> extents = work.values.Extents(touched, op.device, id.index);
  const bool load = op.kernel == kLoadKernel;
  const LaneId lane = work.tables.LaneOf(op.device, LaneKind::kCompute);
  Step& step = work.tables.AddStep(load ? Step::kLoad : Step::kCall, lane, place);
  step.op = id;
  step.call = op.call;
  step.inputs = std::move(inputs);
  step.outputs = std::move(outputs);
  step.extents = std::move(extents);
}

// `given`: the outputs that have their port. What is given twice, or is not in an output's memory,
// is copied into one.
void AddGive(Work& work, uint32_t port, std::set<BufferId>& given) {
  const graph::Use& use = work.graph.outputs[port].use;
  const uint32_t consumer = static_cast<uint32_t>(work.graph.ops.size()) + port;
  const Step::Place place{
      .call = work.facts.MadeAt(use.value), .order = Step::Place::kGives, .consumer = consumer};
  ReplicaId output = work.values.Reach(use, kCaller, place, Space::kOutput);
  const Buffer buffer = work.tables.BufferOf(output);
  if (buffer.space != Space::kOutput ||
      !given.insert(work.schedule.replicas[output].buffer).second) {
    const ReplicaId copied = work.tables.AddReplica(use.value, Space::kOutput, kCaller);
    const Step::Place copy_place{place.call, Step::Place::kValues, consumer, /*hop=*/3};
    work.values.AddCopy(output, copied, work.tables.LaneOf(buffer.device, LaneKind::kCopyOut),
                        copy_place);
    output = copied;
  }
  std::vector<ReplicaId> extents = work.values.Extents({output}, kCaller, consumer);
  work.schedule.outputs.push_back(output);
  Step& step =
      work.tables.AddStep(Step::kGive, work.tables.LaneOf(kCaller, LaneKind::kGive), place);
  step.port = port;
  step.inputs = {output};
  step.extents = std::move(extents);
}

}  // namespace

void Lower(const graph::Module& module, const graph::Graph& graph, CommLanes comm_lanes,
           Schedule& schedule) {
  Work work(module, graph, comm_lanes, schedule);
  std::set<graph::SymbolId> taken;
  std::set<BufferId> given;
  for (uint32_t port = 0; port < graph.inputs.size(); ++port) AddTake(work, port, taken);
  for (OpId op : graph.ops.Ids()) AddOp(work, op);
  for (uint32_t port = 0; port < graph.outputs.size(); ++port) AddGive(work, port, given);
}

}  // namespace cgraph::schedule
