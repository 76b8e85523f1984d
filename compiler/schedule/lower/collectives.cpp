#include "compiler/schedule/lower/lowering_context.h"

#include "compiler/base/check.h"

namespace cgraph::schedule {
namespace {

using graph::DeviceId;
using graph::OpId;
using graph::ValueId;

// Lowers a collective through host memory: all values go to the caller, which computes the results
// and hands them out.
void AddAtCaller(LoweringContext& lowering, OpId id) {
  const graph::Op& op = lowering.graph.ops[id];
  const Step::ProgramPosition place{.call = lowering.facts.PlaceOf(id), .consumer = id.index};
  std::vector<ValueLocationId> inputs, staged;
  for (const graph::Use& use : op.operands) {
    inputs.push_back(lowering.values.MaterializeOn({.value = use.value}, kCaller, place));
  }
  for (ValueId result : op.results) {
    staged.push_back(lowering.tables.AddLocation(result, Space::kSlot, kCaller));
  }
  std::vector<ValueLocationId> touched = inputs;
  touched.insert(touched.end(), staged.begin(), staged.end());
  std::vector<ValueLocationId> extents = lowering.values.Extents(touched, kCaller, id.index);
  Step& step = lowering.tables.AddStep(Step::kCall,
                                       lowering.tables.LaneOf(kCaller, LaneKind::kCompute), place);
  step.op = id;
  step.call = op.call;
  step.inputs = std::move(inputs);
  step.outputs = staged;
  step.extents = std::move(extents);
  for (size_t i = 0; i < staged.size(); ++i) {
    const DeviceId home = lowering.graph.values[op.results[i]].home;
    ValueLocationId target = staged[i];
    if (home != kCaller) {
      target = lowering.tables.AddLocation(op.results[i], Space::kSlot, home);
      const Step::ProgramPosition after{place.call, Step::ProgramPosition::kValues, id.index,
                                        /*hop=*/1};
      lowering.values.AddCopy(staged[i], target, lowering.tables.LaneOf(home, LaneKind::kCopyIn),
                              after);
    }
    lowering.values.SetHome(op.results[i], home, target);
  }
}

}  // namespace

// Adds one step with a part at every participant. Inputs are brought to the participants first; a
// root that is not where the value lives reads it like any other consumer.
void AddCollective(LoweringContext& lowering, OpId id) {
  using Traits = CollectiveTraits;
  const graph::Op& op = lowering.graph.ops[id];
  const graph::Collective& collective = *op.collective;
  const Traits& traits = TraitsOf(collective.kind);
  const size_t members = collective.participants.size();
  const TransportChoice choice =
      ChooseGroupTransport(lowering.module, collective.participants, collective.via);
  CGRAPH_CHECK(choice.possible, "schedule", "a collective that nothing carries: " + choice.reason);
  lowering.schedule.collective_choices.push_back({id, choice.transport, choice.reason});
  const bool through_host = choice.transport == TransportKind::kHost;
  if (through_host && traits.from != Traits::kNobody) return AddAtCaller(lowering, id);
  const Step::ProgramPosition place{.call = lowering.facts.PlaceOf(id), .consumer = id.index};
  std::vector<CollectivePart> parts(members);
  Group group;
  for (size_t rank = 0; rank < members; ++rank) {
    const DeviceId device = collective.participants[rank];
    CollectivePart& part = parts[rank];
    group.lanes.push_back(lowering.tables.LaneOf(device, LaneKind::kComm));
    const auto share = [&](Traits::Who who, size_t values) -> std::pair<size_t, size_t> {
      if (who == Traits::kEach) return {rank * (values / members), values / members};
      return {0, rank == collective.root ? values : 0};
    };
    const auto [first_input, inputs] = share(traits.from, op.operands.size());
    const auto [first_output, outputs] = share(traits.to, op.results.size());
    for (size_t i = 0; i < inputs; ++i) {
      part.inputs.push_back(
          lowering.values.MaterializeOn(op.operands[first_input + i], device, place));
    }
    for (size_t i = 0; i < outputs; ++i) {
      part.outputs.push_back(lowering.values.AtHome(op.results[first_output + i], device));
    }
    std::vector<ValueLocationId> touched = part.inputs;
    touched.insert(touched.end(), part.outputs.begin(), part.outputs.end());
    part.extents = lowering.values.Extents(touched, device, id.index);
  }
  Step& step = lowering.tables.AddStep(Step::kCollective, group.lanes[collective.root], place);
  step.op = id;
  step.call = op.call;
  step.group = lowering.tables.GroupOf(std::move(group));
  step.by = through_host ? TransportKind::kShm : choice.transport;  // a barrier moves nothing
  step.parts = std::move(parts);
}

}  // namespace cgraph::schedule
