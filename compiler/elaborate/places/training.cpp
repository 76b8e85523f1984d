#include "compiler/elaborate/calls/arguments.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/places/places.h"
#include "compiler/elaborate/types/coerce.h"
#include "compiler/elaborate/types/unify.h"
#include "compiler/elaborate/values/make.h"

namespace cgraph::elaborate {
namespace {

// Makes the slots of one tensor: "w.m", with the dimensions and dtype that `update` binds there.
void AddSlots(ElaborationContext& elaboration, graph::InstanceId id, graph::StateId param) {
  Training& training = *elaboration.places.instances[id.index].training;
  const program::Optimizer& optimizer = elaboration.program.optimizers[training.optimizer];
  std::vector<Value>& slots = training.slots[param];
  const graph::State state = elaboration.module.states[param];  // a copy: the table grows
  Frame frame = UpdateFrame(elaboration, id, param);
  const program::Parameter& tensor = optimizer.signature.parameters[0];
  const auto& type = std::get<program::TensorType>(elaboration.program.types[tensor.type].node);
  const Subject subject{"parameter", &tensor.name, tensor.range};
  const Range range = elaboration.program.places[elaboration.places.instances[id.index].place]
                          .trained->range;
  if (!BindDType(elaboration, type, state.type.dtype, frame, subject, range) ||
      !MatchDims(elaboration, {tensor.type, state.type, frame, subject, range})) {
    return;
  }
  for (program::StateId slot_id : optimizer.slots) {
    const program::State& slot = elaboration.program.states[slot_id];
    slots.push_back(
        StateLayout(elaboration, slot.type, state.name + "." + slot.name, frame, id));
  }
}

}  // namespace

void CreateTraining(ElaborationContext& elaboration, graph::InstanceId id, Frame& indices) {
  InstanceDetails& details = elaboration.places.instances[id.index];
  const program::Trained& trained = *elaboration.program.places[details.place].trained;
  const program::Optimizer& optimizer = elaboration.program.optimizers[trained.optimizer];
  Frame frame(optimizer.name, nullptr, &optimizer.locals);
  std::vector<Actual> actuals = EvaluateArguments(elaboration, trained.arguments,
                                                  &optimizer.parameters, frame, indices);
  if (!BindParameters(elaboration, optimizer.parameters, actuals, frame, trained.range)) return;
  details.training.emplace(Training{trained.optimizer, std::move(frame), {}});
  const program::Actor& actor = elaboration.program.actors[details.actor];
  for (size_t i = 0; i < actor.states.size(); ++i) {
    if (!elaboration.program.states[actor.states[i]].is_param) continue;
    MapLeaves(elaboration, trained.range, details.layout[i], [&](const Value& leaf) {
      AddSlots(elaboration, id, leaf.As<StateLeaf>()->state);
      return leaf;
    });
  }
}

Frame UpdateFrame(const ElaborationContext& elaboration, graph::InstanceId id,
                  graph::StateId param) {
  const Training& training = *elaboration.places.instances[id.index].training;
  const program::Optimizer& optimizer = elaboration.program.optimizers[training.optimizer];
  Frame frame(elaboration.module.instances[id].name + "." + program::kUpdateMethod,
              &optimizer.signature, &optimizer.update.locals);
  for (size_t i = 0; i < optimizer.parameters.size(); ++i) {
    frame.locals[i] = training.frame.locals[i];
  }
  frame.instance = id;
  frame.slots = &training.slots.at(param);
  return frame;
}

}  // namespace cgraph::elaborate
