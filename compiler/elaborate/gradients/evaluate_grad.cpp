// `grad(loss, of: X)`: what X means, and the gradients in its structure.
#include "compiler/elaborate/gradients/gradients.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "compiler/elaborate/calls/calls.h"
#include "compiler/elaborate/calls/method_scope.h"
#include "compiler/elaborate/gradients/copies/copies.h"
#include "compiler/elaborate/gradients/derive.h"
#include "compiler/elaborate/gradients/make_op.h"
#include "compiler/elaborate/gradients/tape.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/values/make.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SaveAndRestore.h"
#include "runtime/base/kinds/native.h"

namespace cgraph::elaborate {

using graph::ValueId;

namespace {

// Returns `of:` as a tree of the tensors that it means.
Value TargetsOf(ElaborationContext& elaboration, const Value& of, Range range) {
  if (of.As<Tensor>() || of.poisoned()) return of;
  if (const auto* instance = of.As<graph::InstanceId>()) {
    return ParamsOf(elaboration, *instance, range);
  }
  if (const Tuple* tuple = of.As<Tuple>()) {
    std::vector<Value> values;
    for (const Value& item : tuple->items->values) {
      values.push_back(TargetsOf(elaboration, item, range));
    }
    return MakeTuple(elaboration, range, tuple->items->names, std::move(values));
  }
  if (of.As<List>() || of.As<PlaceArray>()) {
    std::optional<std::vector<Value>> items = ListItems(elaboration, of, range);
    if (!items) return Value();
    for (Value& item : *items) item = TargetsOf(elaboration, item, range);
    return MakeList(elaboration, range, std::move(*items));
  }
  Report(elaboration, Code::kE0903, range,
         fmt::format("`of:` takes places with params, params and tensors; this is {}",
                     Describe(elaboration, of)));
  return Value();
}

bool IsPoisoned(const Value& value) {
  if (const List* list = value.As<List>()) return llvm::any_of(*list->items, IsPoisoned);
  if (const Tuple* tuple = value.As<Tuple>()) return llvm::any_of(tuple->items->values, IsPoisoned);
  return value.poisoned();
}

// Returns the text by which messages mean a value: its name, or else its type.
std::string NameOf(ElaborationContext& elaboration, ValueId id) {
  const graph::Value& value = elaboration.builder->value(id);
  return value.name.empty() ? Text(elaboration, value.type) : "`" + value.name + "`";
}

// Collects the tensors of a tree; false (reported) where one is not of floats.
bool CollectTargets(ElaborationContext& elaboration, const Value& tree, Targets& targets,
                    Range range) {
  bool floats = true;
  ForEachTensor(tree, [&](const Tensor& tensor) {
    const graph::Type& type = elaboration.builder->type(tensor.value);
    const ValueId root = graph::RootOf(elaboration.builder->graph(), tensor.value);
    targets.values.insert(root);
    if (IsParam(elaboration, root)) targets.params.insert(elaboration.builder->value(root).state);
    if (ClassOf(type.dtype) == DTypeClass::kFloating || !floats) return;
    floats = false;
    Report(elaboration, Code::kE0903, range,
           fmt::format("gradients are of floats, and {} is {}",
                       elaboration.builder->value(tensor.value).name.empty()
                           ? "this"
                           : NameOf(elaboration, tensor.value),
                       Text(elaboration, type)));
  });
  return floats && !IsPoisoned(tree);
}

bool CheckLoss(ElaborationContext& elaboration, const Value& value,
               const std::optional<Tensor>& from, Range range) {
  const Tensor* loss = value.As<Tensor>();
  if (loss == nullptr) {
    if (!value.poisoned()) {
      const bool is_list = value.As<List>() != nullptr;
      Report(elaboration, Code::kE0902, range,
             fmt::format("`grad` takes the gradient of a tensor; this is {}{}",
                         Describe(elaboration, value),
                         is_list ? "; the loss is their sum: reduce(losses, sum) of values of "
                                   "several places, sum(stack(losses)) of those of one"
                                 : ""));
    }
    return false;
  }
  const graph::Type& type = elaboration.builder->type(loss->value);
  if (ClassOf(type.dtype) != DTypeClass::kFloating || (!from && !type.dims.empty())) {
    Report(elaboration, Code::kE0902, range,
           fmt::format("`grad` takes a loss of one float; this is {}: sum() or mean() it, or say "
                       "`from:`",
                       Text(elaboration, type)));
    return false;
  }
  if (!from || elaboration.builder->type(from->value) == type) return true;
  Report(elaboration, Code::kE0902, range,
         fmt::format("`from:` is the gradient of what is differentiated, {}; this is {}",
                     Text(elaboration, type),
                     Text(elaboration, elaboration.builder->type(from->value))));
  return false;
}

// Returns the gradient of a target that is a part of the value whose gradient is known, or all of
// it.
Tensor PartOf(ElaborationContext& elaboration, const Tensor& gradient, const Tensor& target,
              Range range) {
  GraphBuilder& builder = *elaboration.builder;
  const graph::Value value = builder.value(target.value);
  if (!value.base.valid()) return gradient;
  graph::Type type = value.type;
  const int64_t element = value.offset / DTypeBytes(type.dtype);
  type.dtype = builder.type(gradient.value).dtype;  // f32 of an f16 param
  const int64_t offset = element * DTypeBytes(type.dtype);
  return Tensor{builder.AddView(gradient.value, offset, std::move(type), range)};
}

// Warns of what the loss does not depend on.
void WarnOfZeros(ElaborationContext& elaboration, const std::vector<std::string>& names,
                 Range range) {
  constexpr size_t kMost = 6;
  if (names.empty()) return;
  std::string list;
  for (size_t i = 0; i < std::min(names.size(), kMost); ++i) {
    list += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kMost) list += fmt::format(" and {} more", names.size() - kMost);
  Report(elaboration, Code::kW0506, range,
         fmt::format("the loss does not depend on {}: {} zeros", list,
                     names.size() == 1 ? "its gradient is" : "their gradients are"));
}

// Returns zeros for what the loss does not depend on, whose name is added to `names`.
Value NoGradient(ElaborationContext& elaboration, const Tensor& target, Range range,
                 std::vector<std::string>& names) {
  const graph::Value value = elaboration.builder->value(target.value);
  names.push_back(NameOf(elaboration, target.value));
  llvm::SaveAndRestore<std::optional<graph::DeviceId>> on(elaboration.on);
  if (elaboration.method == nullptr) elaboration.on = value.home;
  OpMaker maker(elaboration, range);
  const Tensor zeros = maker.Zeros(GradientType(elaboration, target.value));
  return zeros.value.valid() ? Value(zeros) : Value();
}

}  // namespace

Value ParamsOf(ElaborationContext& elaboration, graph::InstanceId id, Range range) {
  const InstanceDetails& details = elaboration.places.instances[id.index];
  const program::Actor& actor = elaboration.program.actors[details.actor];
  std::vector<std::string> names;
  std::vector<Value> values;
  for (size_t i = 0; i < actor.states.size(); ++i) {
    const program::State& state = elaboration.program.states[actor.states[i]];
    if (!state.is_param) continue;
    names.push_back(state.name);
    values.push_back(ReadStates(elaboration, range, details.layout[i]));
  }
  if (values.empty()) {
    Report(elaboration, Code::kE0903, range,
           fmt::format("`of:` takes places with params, params and tensors; `{}` has no param{}{}",
                       actor.name, actor.states.empty() ? "" : ", only states",
                       actor.library == kPythonLibrary
                           ? "; what its module keeps is trained by `grad(loss)` alone, where its "
                             "methods are `grad by auto`"
                           : ""))
        .AddNote(actor.range, "declared here");
    return Value();
  }
  return MakeTuple(elaboration, range, std::move(names), std::move(values));
}

namespace {

// GradCall: the arguments of `grad`.
struct GradCall {
  Value loss, of = Nothing();      // without `of:`, what native code keeps is trained
  std::set<graph::StateId> named;  // the params that `of:` reads
  std::optional<Tensor> from;
  Range loss_range, of_range;
};

// Evaluates the arguments; nothing where one is wrong, which is reported.
std::optional<GradCall> ReadArguments(ElaborationContext& elaboration,
                                      const program::CallBuiltin& e, const Context& context) {
  GradCall call;
  for (const program::Argument& argument : e.arguments) {
    llvm::SaveAndRestore<std::set<graph::StateId>*> naming(
        elaboration.named_params, argument.label == "of" ? &call.named : nullptr);
    const Value value = Evaluate(elaboration, argument.value, context.frame);
    if (value.poisoned()) return std::nullopt;
    const Range range = elaboration.program.exprs[argument.value].range;
    if (argument.label == "of") {
      call.of = value;
      call.of_range = range;
    } else if (argument.label.empty()) {
      call.loss = value;
      call.loss_range = range;
    } else if (const Tensor* tensor = value.As<Tensor>()) {
      call.from = *tensor;
    } else {
      Report(elaboration, Code::kE0902, range,
             fmt::format("`from:` takes a tensor, the gradient of what is differentiated; this is "
                         "{}",
                         Describe(elaboration, value)));
      return std::nullopt;
    }
  }
  return call;
}

// Returns the gradients in the structure of `of:`, zeros where there is none.
Value InStructure(ElaborationContext& elaboration, const Value& tree, FoundGradients& found,
                  size_t call, Range range) {
  std::vector<std::string> without;
  Value result = MapLeaves(elaboration, range, tree, [&](const Value& leaf) {
    const Tensor& target = *leaf.As<Tensor>();
    const std::optional<Tensor>& gradient =
        found[graph::RootOf(elaboration.builder->graph(), target.value)];
    if (!gradient) return NoGradient(elaboration, target, range, without);
    if (!gradient->value.valid()) return Value();
    const Tensor part = PartOf(elaboration, *gradient, target, range);
    NoteVariable(elaboration, part.value, target.value, call);
    return Value(part);
  });
  WarnOfZeros(elaboration, without, range);
  return result;
}

}  // namespace

Value EvaluateGrad(ElaborationContext& elaboration, const program::CallBuiltin& e,
                   const Context& context) {
  const std::optional<GradCall> call = ReadArguments(elaboration, e, context);
  if (!call) return Value();
  if (elaboration.builder == nullptr || elaboration.tape == nullptr) {
    if (!elaboration.speculative) {
      Report(elaboration, Code::kE0406, context.range,
             "`grad` differentiates what a graph computes; a value known at compile time is needed "
             "here");
    }
    return Value();
  }
  if (!CheckLoss(elaboration, call->loss, call->from, call->loss_range)) return Value();
  const Value tree = TargetsOf(elaboration, call->of, call->of_range);
  Targets targets{{}, call->named};
  if (!CollectTargets(elaboration, tree, targets, call->of_range)) return Value();
  // `of:` with one param of a place has read all params of that place.
  const auto is_meant = [&](graph::StateId param) {
    const ValueId value = ReadState(elaboration, param).value;
    return targets.values.count(graph::RootOf(elaboration.builder->graph(), value)) != 0;
  };
  for (auto at = targets.params.begin(); at != targets.params.end();) {
    at = is_meant(*at) ? std::next(at) : targets.params.erase(at);
  }
  const Tensor& loss = *call->loss.As<Tensor>();
  // Ops that stand alone are derived, too, so W0501 does not report them.
  const DerivedCall derived{graph::MakerOf(elaboration.builder->graph(), loss.value)};
  llvm::SaveAndRestore<const DerivedCall*> of_loss(elaboration.derived, &derived);
  const size_t first = elaboration.tape->nodes.size();
  FoundGradients found;
  if (!Derive(elaboration, loss, call->from, targets, context.range, found)) return Value();
  if (elaboration.method != nullptr) {
    if (!CheckWholeVariables(elaboration, found, call->of_range)) return Value();
  } else {
    FindUndeclaredCopies(elaboration, found, context.range);
    OpMaker maker(elaboration, context.range);
    if (!SumCopies(elaboration, maker, found)) return Value();
  }
  return InStructure(elaboration, tree, found, first, context.range);
}

}  // namespace cgraph::elaborate
