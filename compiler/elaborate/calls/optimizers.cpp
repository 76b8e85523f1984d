#include "compiler/elaborate/calls/optimizers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/elaborate/calls/calls.h"
#include "compiler/elaborate/calls/method_scope.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/gradients/make_op.h"
#include "compiler/elaborate/gradients/tape.h"
#include "compiler/elaborate/places/places.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/values/make.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SaveAndRestore.h"

namespace cgraph::elaborate {
namespace {

// The parameters of every optimizer's `update` that are not its callers' to give as they are.
constexpr int kTensor = 0;
constexpr int kGradient = 1;

// Update: one call of `update` of a place.
class Update {
 public:
  Update(ElaborationContext& elaboration, graph::InstanceId id, std::vector<Actual> actuals,
         Range range)
      : elaboration_(elaboration),
        id_(id),
        details_(elaboration.places.instances[id.index]),
        optimizer_(elaboration.program.optimizers[details_.training->optimizer]),
        actuals_(std::move(actuals)),
        name_(elaboration.module.instances[id].name),
        range_(range) {}

  bool Run() {
    if (!MatchArguments()) return false;
    const Value gradients = gradients_->value;
    const program::Actor& actor = elaboration_.program.actors[details_.actor];
    std::vector<std::string> names;
    std::vector<Value> layouts;
    for (size_t i = 0; i < actor.states.size(); ++i) {
      const program::State& state = elaboration_.program.states[actor.states[i]];
      if (!state.is_param) continue;
      names.push_back(state.name);
      layouts.push_back(details_.layout[i]);
    }
    const Tuple* parts = gradients.As<Tuple>();
    if (parts == nullptr || parts->items->names != names) {
      return ReportStructure(
          gradients, fmt::format("params by their names, ({})", fmt::join(names, ", ")),
          MendOfSome(gradients, names));
    }
    MethodScope scope{MakeCall(elaboration_, id_, program::kUpdateMethod,
                               elaboration_.module.instances[id_].device, range_)};
    scope.first_node = TapeSize(elaboration_);
    elaboration_.updated.insert(id_);
    llvm::SaveAndRestore<MethodScope*> inside(elaboration_.method, &scope);
    for (size_t i = 0; i < layouts.size(); ++i) {
      if (!UpdateTree(layouts[i], parts->items->values[i])) return false;
    }
    CommitStates(elaboration_, scope);
    return true;
  }

 private:
  // Finds the parameter of each argument: the tensor is given by none, so they begin with the
  // gradients.
  bool MatchArguments() {
    const std::vector<program::Parameter>& parameters = optimizer_.signature.parameters;
    for (size_t i = 0; i < actuals_.size(); ++i) {
      Actual& actual = actuals_[i];
      if (actual.value.poisoned()) return false;
      const auto named = llvm::find_if(parameters, [&](const program::Parameter& parameter) {
        return parameter.name == actual.label;
      });
      actual.parameter = actual.label.empty()
                             ? static_cast<int>(i) + kGradient
                             : named == parameters.end() ? -1 : named - parameters.begin();
      if (actual.parameter == kGradient) gradients_ = &actual;
    }
    if (gradients_ != nullptr) return true;
    Report(elaboration_, Code::kE0401, range_,
           fmt::format("`{0}.update` takes the gradients of `{0}`: {0}.update(grad(loss, of: {0}), "
                       "...)",
                       name_));
    return false;
  }

  // Says how some of the params stay as they are, where the gradients of the others are given.
  std::string MendOfSome(const Value& given, const std::vector<std::string>& names) const {
    const Tuple* const tuple = given.As<Tuple>();
    const auto has = [&](const std::string& name) {
      return llvm::is_contained(tuple->items->names, name);
    };
    if (tuple != nullptr && tuple->items->names.size() == names.size()) {
      return llvm::all_of(names, has) ? "; they stand in the order of the declarations" : "";
    }
    const bool of_one = given.As<Tensor>() && names.size() > 1;  // grad(loss, of: net.w)
    const bool of_some = tuple != nullptr && !tuple->items->names.empty() &&
                         llvm::all_of(tuple->items->names, [&](const std::string& name) {
                           return llvm::is_contained(names, name);
                         });
    if (!of_one && !of_some) return "";
    const auto left = llvm::find_if_not(names, [&](const std::string& name) {
      return tuple != nullptr && has(name);
    });
    return fmt::format("; an update is of all params: declare {} as a `state` where it is never "
                       "trained, or give zeros of its shape, which leave it to decay and momentum "
                       "alone",
                       of_one ? "a weight" : "`" + *left + "`");
  }

  bool ReportStructure(const Value& given, const std::string& wanted,
                       const std::string& mend = "") {
    if (given.poisoned()) return false;
    std::string seen = Describe(elaboration_, given);
    if (const Tuple* tuple = given.As<Tuple>()) {
      seen = fmt::format("({})", fmt::join(tuple->items->names, ", "));
    }
    Report(elaboration_, Code::kE0910, gradients_->range,
           fmt::format("these are no gradients of `{0}`: they are of its {1}, as grad(loss, of: "
                       "{0}) gives them; this has {2}{3}",
                       name_, wanted, seen, mend));
    return false;
  }

  // Updates the tensors of one param, which may be a list or a tuple of them.
  bool UpdateTree(const Value& layout, const Value& gradient) {
    if (const StateLeaf* leaf = layout.As<StateLeaf>()) return UpdateTensor(leaf->state, gradient);
    const List* list = layout.As<List>();
    const Tuple* tuple = layout.As<Tuple>();
    if (list == nullptr && tuple == nullptr) return false;  // reported
    const std::vector<Value>& layouts = list ? *list->items : tuple->items->values;
    const std::vector<Value>* given = nullptr;
    if (const List* part = gradient.As<List>(); part && list) given = part->items.get();
    if (const Tuple* part = gradient.As<Tuple>(); part && tuple) given = &part->items->values;
    if (given == nullptr || given->size() != layouts.size()) {
      return ReportStructure(gradient, fmt::format("params, one of which is a {} of {}",
                                                   list ? "list" : "tuple", layouts.size()));
    }
    for (size_t i = 0; i < layouts.size(); ++i) {
      if (!UpdateTree(layouts[i], (*given)[i])) return false;
    }
    return true;
  }

  bool UpdateTensor(graph::StateId param, const Value& gradient) {
    const Tensor* given = gradient.As<Tensor>();
    const graph::State& state = elaboration_.module.states[param];
    if (given == nullptr) {
      return ReportStructure(gradient, fmt::format("`{}`, {}", state.name,
                                                   Text(elaboration_, state.type)));
    }
    const graph::Type type = elaboration_.builder->type(given->value);
    if (type.dims != state.type.dims || ClassOf(type.dtype) != DTypeClass::kFloating) {
      Report(elaboration_, Code::kE0910, gradients_->range,
             fmt::format("the gradient of `{}.{}` has its shape, {}; this is {}", name_, state.name,
                         Text(elaboration_, state.type), Text(elaboration_, type)));
      return false;
    }
    Frame callee = UpdateFrame(elaboration_, id_, param);
    std::vector<Actual> actuals = actuals_;
    actuals[gradients_ - actuals_.data()].value = AsDeclared(*given, type.dtype);
    Actual tensor{"", Value(ReadState(elaboration_, param)), range_};
    tensor.parameter = kTensor;
    actuals.insert(actuals.begin(), std::move(tensor));
    if (!BindParameters(elaboration_, optimizer_.signature.parameters, actuals, callee, range_)) {
      return false;
    }
    const Value made =
        CallBody(elaboration_, optimizer_.signature, optimizer_.update, callee, range_);
    const Tensor* result = made.As<Tensor>();
    if (result == nullptr) return false;  // reported
    elaboration_.method->pending[param] = *result;
    return true;
  }

  // Returns a gradient in the dtype that `update` declares for it: mostly f32.
  Value AsDeclared(const Tensor& given, DType dtype) {
    const program::TypeId declared = optimizer_.signature.parameters[kGradient].type;
    const auto& type = std::get<program::TensorType>(elaboration_.program.types[declared].node);
    if (!type.dtype || *type.dtype == dtype) return Value(given);
    const Tensor made = OpMaker(elaboration_, range_).Cast(given, *type.dtype);
    return made.value.valid() ? Value(made) : Value();
  }

  ElaborationContext& elaboration_;
  const graph::InstanceId id_;
  const InstanceDetails& details_;
  const program::Optimizer& optimizer_;
  std::vector<Actual> actuals_;
  const Actual* gradients_ = nullptr;  // among them
  const std::string name_;             // of the place
  const Range range_;
};

bool MayCall(ElaborationContext& elaboration, Range range) {
  if (!elaboration.method && elaboration.builder) return true;
  Report(elaboration, Code::kE0604, range,
         "methods of places are called by graphs, not by methods or initial values");
  return false;
}

// Calls `update` of each place in a tree of lists and tuples; `actuals[0]` are the gradients, a
// tree of the same structure.
bool UpdatePlaces(ElaborationContext& elaboration, const Value& places,
                  std::vector<Actual> actuals, Range range) {
  const Value gradients = actuals[0].value;
  if (places.poisoned() || gradients.poisoned()) return false;
  if (const auto* id = places.As<graph::InstanceId>()) {
    if (IsUpdate(elaboration, *id, program::kUpdateMethod)) {
      return !CallUpdate(elaboration, *id, std::move(actuals), range).poisoned();
    }
    Report(elaboration, Code::kE0312, range,
           fmt::format("`{}` is trained by no optimizer, so it has no `update`; say so where it is "
                       "declared: place ... on ... trained by sgd()",
                       elaboration.module.instances[*id].name));
    return false;
  }
  std::optional<std::vector<Value>> items, parts;
  const Tuple* tuple = places.As<Tuple>();
  const Tuple* given = gradients.As<Tuple>();
  if (tuple != nullptr && given != nullptr) {
    items = tuple->items->values;
    parts = given->items->values;
  } else if ((places.As<List>() || places.As<PlaceArray>()) && gradients.As<List>()) {
    items = ListItems(elaboration, places, range);
    parts = ListItems(elaboration, gradients, range);
    if (!items || !parts) return false;
  }
  if (!items || items->size() != parts->size()) {
    const bool joined = items && parts && tuple == nullptr && parts->size() > items->size();
    Report(elaboration, Code::kE0910, actuals[0].range,
           fmt::format("these are no gradients of these places: grad(loss, of: places) gives them "
                       "in the structure of the places, {}; this is {}{}",
                       Describe(elaboration, places), Describe(elaboration, gradients),
                       joined ? "; `+` puts lists one behind the other, and sums are written "
                                "[(a + b for (a, b) in zip(t, u)) for (t, u) in zip(ts, us)]"
                              : ""));
    return false;
  }
  for (size_t i = 0; i < items->size(); ++i) {
    actuals[0].value = (*parts)[i];
    if (!UpdatePlaces(elaboration, (*items)[i], actuals, range)) return false;
  }
  return true;
}

}  // namespace

bool IsUpdate(const ElaborationContext& elaboration, graph::InstanceId id,
              const std::string& name) {
  return name == program::kUpdateMethod && elaboration.places.instances[id.index].training;
}

Value CallUpdate(ElaborationContext& elaboration, graph::InstanceId id,
                 std::vector<Actual> actuals, Range range) {
  return Update(elaboration, id, std::move(actuals), range).Run() ? Nothing() : Value();
}

Value EvaluateUpdateAll(ElaborationContext& elaboration, const program::CallBuiltin& e,
                        const Context& context) {
  if (!MayCall(elaboration, context.range)) return Value();
  std::vector<Actual> actuals =
      EvaluateArguments(elaboration, e.arguments, nullptr, context.frame, context.frame);
  llvm::stable_sort(actuals, [](const Actual& a, const Actual& b) {
    return a.label.empty() && !b.label.empty();
  });
  const Value places = actuals[0].value;
  actuals.erase(actuals.begin());
  return UpdatePlaces(elaboration, places, std::move(actuals), context.range) ? Nothing() : Value();
}

}  // namespace cgraph::elaborate
