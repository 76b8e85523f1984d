// Lower: every value gets a place in memory wherever it is read, and every op, transfer, copy, take
// and give becomes a step of one lane (a transfer of two).
//
// A value lies at its home, and a use elsewhere makes a location there, once per destination and
// transport; where the transport is `local` the consumer reads the producer's memory. Extents are
// values of their own: a step that touches a tensor with a symbol in its type reads the symbol's
// extent on its own device, so the extent travels there first. State is touched by its actor's
// compute lane only: a value of it that leaves the actor is first copied by that lane.
#include <algorithm>
#include <set>

#include "compiler/base/kernels.h"
#include "compiler/schedule/lower/lowering_context.h"
#include "compiler/schedule/passes.h"

namespace cgraph::schedule {
namespace {

using graph::OpId;
using graph::ValueId;

// `taken`: the symbols whose extent an input has made.
void AddTake(LoweringContext& lowering, uint32_t port, std::set<graph::SymbolId>& taken) {
  const ValueId value = lowering.graph.inputs[port].use.value;
  std::vector<ValueLocationId> made = {lowering.values.AtHome(value, kCaller)};
  for (const graph::Dim& dim : lowering.graph.values[value].type.dims) {
    if (!dim.symbol.valid() || !taken.insert(dim.symbol).second) continue;
    const ValueId extent = lowering.graph.symbols[dim.symbol].extent;
    if (!lowering.facts.IsPort(extent)) made.push_back(lowering.values.AtHome(extent, kCaller));
  }
  std::vector<ValueLocationId> extents = lowering.values.Extents(made, kCaller, 0);
  std::erase_if(extents, [&](ValueLocationId id) {
    return std::find(made.begin(), made.end(), id) != made.end();
  });
  lowering.schedule.inputs.push_back(made[0]);
  const LaneId lane = lowering.tables.LaneOf(kCaller, LaneKind::kInput);
  Step& step = lowering.tables.AddStep(Step::kInput, lane, {.consumer = port});
  step.port = port;
  step.outputs = std::move(made);
  step.extents = std::move(extents);
}

void AddOp(LoweringContext& lowering, OpId id) {
  const graph::Op& op = lowering.graph.ops[id];
  if (op.collective) return AddCollective(lowering, id);
  const Step::ProgramPosition place{.call = lowering.facts.PlaceOf(id), .consumer = id.index};
  std::vector<ValueLocationId> inputs, outputs;
  for (const graph::Use& use : op.operands) {
    inputs.push_back(lowering.values.MaterializeOn(use, op.device, place));
  }
  for (ValueId result : op.results) outputs.push_back(lowering.values.AtHome(result, op.device));
  std::vector<ValueLocationId> touched = inputs;
  touched.insert(touched.end(), outputs.begin(), outputs.end());
  std::vector<ValueLocationId> extents = lowering.values.Extents(touched, op.device, id.index);
  const bool load = op.kernel == kLoadKernel;
  const LaneId lane = lowering.tables.LaneOf(op.device, LaneKind::kCompute);
  Step& step = lowering.tables.AddStep(load ? Step::kLoad : Step::kCall, lane, place);
  step.op = id;
  step.call = op.call;
  step.inputs = std::move(inputs);
  step.outputs = std::move(outputs);
  step.extents = std::move(extents);
}

// `given`: the outputs that have their port. A value that is given twice, or is not in an output's
// memory, is copied into one.
void AddGive(LoweringContext& lowering, uint32_t port, std::set<BufferId>& given) {
  const graph::Use& use = lowering.graph.outputs[port].use;
  const uint32_t consumer = static_cast<uint32_t>(lowering.graph.ops.size()) + port;
  const Step::ProgramPosition place{.call = lowering.facts.MadeAt(use.value),
                                    .order = Step::ProgramPosition::kOutputs,
                                    .consumer = consumer};
  ValueLocationId output = lowering.values.MaterializeOn(use, kCaller, place, Space::kOutput);
  const Buffer buffer = lowering.tables.BufferOf(output);
  if (buffer.space != Space::kOutput ||
      !given.insert(lowering.schedule.locations[output].buffer).second) {
    const ValueLocationId copied = lowering.tables.AddLocation(use.value, Space::kOutput, kCaller);
    const Step::ProgramPosition copy_place{place.call, Step::ProgramPosition::kValues, consumer,
                                           /*hop=*/3};
    lowering.values.AddCopy(output, copied,
                            lowering.tables.LaneOf(buffer.device, LaneKind::kCopyOut), copy_place);
    output = copied;
  }
  std::vector<ValueLocationId> extents = lowering.values.Extents({output}, kCaller, consumer);
  lowering.schedule.outputs.push_back(output);
  Step& step = lowering.tables.AddStep(Step::kOutput,
                                       lowering.tables.LaneOf(kCaller, LaneKind::kOutput), place);
  step.port = port;
  step.inputs = {output};
  step.extents = std::move(extents);
}

}  // namespace

void Lower(const graph::Module& module, const graph::Graph& graph, CommLanes comm_lanes,
           Schedule& schedule) {
  LoweringContext lowering(module, graph, comm_lanes, schedule);
  std::set<graph::SymbolId> taken;
  std::set<BufferId> given;
  for (uint32_t port = 0; port < graph.inputs.size(); ++port) AddTake(lowering, port, taken);
  for (OpId op : graph.ops.Ids()) AddOp(lowering, op);
  for (uint32_t port = 0; port < graph.outputs.size(); ++port) AddGive(lowering, port, given);
}

}  // namespace cgraph::schedule
