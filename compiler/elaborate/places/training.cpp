#include <fmt/format.h>

#include "compiler/elaborate/calls/arguments.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/places/places.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/types/coerce.h"
#include "compiler/elaborate/types/unify.h"
#include "compiler/elaborate/values/make.h"

namespace cgraph::elaborate {
namespace {

// Reports a param of a dtype that the optimizer does not take.
bool CheckDType(ElaborationContext& elaboration, const program::Optimizer& optimizer,
                graph::InstanceId id, const graph::State& param, Range range) {
  const program::Parameter& tensor = optimizer.signature.parameters[0];
  const auto& type = std::get<program::TensorType>(elaboration.program.types[tensor.type].node);
  const DType dtype = param.type.dtype;
  if (!type.dtype || *type.dtype == dtype) return true;
  const bool is_short = dtype == DType::kF16 || dtype == DType::kBF16;
  Report(elaboration, Code::kE0407, range,
         fmt::format("optimizer `{0}` updates tensors of {1}, and param `{2}.{3}` is of {4}; "
                     "declare it of {1}, or train it by an optimizer of {4}{5}",
                     optimizer.name, DTypeName(*type.dtype), elaboration.module.instances[id].name,
                     param.name, DTypeName(dtype),
                     is_short ? ", as mixed_sgd() and mixed_adamw() of std.optim are" : ""))
      .AddNote(tensor.range, "declared here");
  return false;
}

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
  if (!CheckDType(elaboration, optimizer, id, state, range) ||
      !BindDType(elaboration, type, state.type.dtype, frame, subject, range) ||
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
  frame.update = fmt::format("`{}` updates `{}.{}`", optimizer.name,
                             elaboration.module.instances[id].name,
                             elaboration.module.states[param].name);
  frame.instance = id;
  frame.slots = &training.slots.at(param);
  return frame;
}

}  // namespace cgraph::elaborate
