#include "compiler/elaborate/gradients/rules.h"

#include <fmt/format.h>

#include "compiler/base/kernels.h"
#include "compiler/elaborate/calls/arguments.h"
#include "compiler/elaborate/calls/calls.h"
#include "compiler/elaborate/calls/method_scope.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/ops/ops.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/statements/statements.h"
#include "compiler/elaborate/values/make.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

namespace cgraph::elaborate {
namespace {

using graph::ValueId;

class RuleApplier {
 public:
  RuleApplier(ElaborationContext& elaboration, OpMaker& maker, const RuleContext& context,
              Contribute contribute)
      : elaboration_(elaboration), maker_(maker), context_(context), contribute_(contribute) {}

  bool Run() {
    const TapeNode& node = context_.node;
    if (const auto* op = std::get_if<program::OpId>(&node.callee)) {
      const program::Op& row = elaboration_.program.ops[*op];
      if (!row.gradient) return ReportNone("op", row.name, row.range);
      Frame frame(row.name, &row.signature, &row.locals);
      return ByRule(*row.gradient, frame, row.where, &row);
    }
    if (const auto* fn = std::get_if<program::FnId>(&node.callee)) {
      const program::Fn& row = elaboration_.program.fns[*fn];
      Frame frame(row.name, &row.signature, &row.body.locals);
      return ByRule(*row.gradient, frame, {}, nullptr);
    }
    if (const auto* method = std::get_if<program::MethodId>(&node.callee)) return ByMethod(*method);
    const Tensor& from = *node.arguments[0].As<Tensor>();
    return contribute_(from, context_.gradients.begin()->second);
  }

 private:
  // ---- ops and fns ------------------------------------------------------------------------------

  bool ByRule(const program::Gradient& rule, Frame& frame, program::ExprId where,
              const program::Op* op) {
    const std::vector<program::Parameter>& parameters = frame.signature->parameters;
    const size_t first_op = elaboration_.builder->graph().ops.size();
    std::vector<Actual> actuals;
    for (size_t i = 0; i < parameters.size(); ++i) {
      actuals.push_back({parameters[i].name,
                         Kept(context_.node.arguments[i]),
                         context_.node.range,
                         {},
                         static_cast<int>(i)});
    }
    elaboration_.backtrace.calls.push_back({&frame, context_.node.range, op});
    auto leave = llvm::make_scope_exit([&] { elaboration_.backtrace.calls.pop_back(); });
    if (!BindParameters(elaboration_, parameters, actuals, frame, context_.node.range, where) ||
        !BindResults(rule, frame)) {
      return false;
    }
    return EachOf(rule, frame) && CheckGone(first_op);
  }

  bool BindResults(const program::Gradient& rule, Frame& frame) {
    if (rule.y.valid()) frame.locals[rule.y.index] = Kept(context_.node.result);
    if (!rule.gy.valid()) return true;
    std::optional<Value> gradients = Gradients();
    if (!gradients) return false;
    frame.locals[rule.gy.index] = std::move(*gradients);
    return true;
  }

  // Returns the gradients in the shape of the results: zeros where nothing came.
  std::optional<Value> Gradients() {
    bool made = true;
    Value gradients =
        MapLeaves(elaboration_, context_.node.range, context_.node.result, [&](const Value& leaf) {
          const Tensor& tensor = *leaf.As<Tensor>();
          const auto found = context_.gradients.find(tensor.value);
          if (found != context_.gradients.end()) return Value(found->second);
          const graph::Type type = maker_.type(tensor);
          if (ClassOf(type.dtype) != DTypeClass::kFloating) return Value(None());
          const Tensor zeros = maker_.Zeros(type);
          made = made && zeros.value.valid();
          return Value(zeros);
        });
    if (!made) return std::nullopt;
    return gradients;
  }

  // Evaluates the gradients that are needed, one by one.
  bool EachOf(const program::Gradient& rule, Frame& frame) {
    if (!ExecuteBlock(elaboration_, rule.body, frame)) return false;
    const std::vector<program::Parameter>& parameters = frame.signature->parameters;
    for (const program::Argument& argument : rule.of) {
      const Value& operand = context_.node.arguments[argument.parameter];
      if (!HasActive(operand)) continue;
      const Value gradient = Evaluate(elaboration_, argument.value, frame,
                                      {parameters[argument.parameter].type, &frame});
      if (!ContributeAll(operand, gradient, argument)) return false;
    }
    return CheckAllGiven(rule, *frame.signature, frame.subject);
  }

  // Hands on a gradient that has the structure of its operand.
  bool ContributeAll(const Value& operand, const Value& gradient,
                     const program::Argument& argument) {
    if (gradient.poisoned()) return false;
    if (const Tensor* of = operand.As<Tensor>()) {
      if (!IsActive(*of)) return true;
      const Tensor* part = gradient.As<Tensor>();
      const bool fits = part != nullptr && SumsTo(maker_.type(*part), maker_.type(*of));
      return fits ? contribute_(*of, *part) : ReportShape(operand, gradient, argument);
    }
    const std::vector<Value>* operands = ItemsOf(operand);
    if (operands == nullptr) return true;
    const std::vector<Value>* gradients = ItemsOf(gradient);
    if (gradients == nullptr || gradients->size() != operands->size()) {
      return ReportShape(operand, gradient, argument);
    }
    for (size_t i = 0; i < operands->size(); ++i) {
      if (!ContributeAll((*operands)[i], (*gradients)[i], argument)) return false;
    }
    return true;
  }

  // Returns whether a gradient has the shape of its operand, or one to which that broadcasts.
  static bool SumsTo(const graph::Type& part, const graph::Type& of) {
    if (part.dims.size() < of.dims.size()) return false;
    const size_t before = part.dims.size() - of.dims.size();
    for (size_t i = 0; i < of.dims.size(); ++i) {
      if (of.dims[i] != part.dims[before + i] && of.dims[i] != graph::Dim{1, {}}) return false;
    }
    return true;
  }

  static const std::vector<Value>* ItemsOf(const Value& value) {
    if (const List* list = value.As<List>()) return list->items.get();
    const Tuple* tuple = value.As<Tuple>();
    return tuple ? &tuple->items->values : nullptr;
  }

  bool ReportShape(const Value& operand, const Value& gradient, const program::Argument& argument) {
    Report(elaboration_, Code::kE0901, argument.range,
           fmt::format("the gradient of `{}` has its {}, {}; this is {}", argument.label,
                       operand.As<Tensor>() ? "shape" : "structure",
                       Describe(elaboration_, operand), Describe(elaboration_, gradient)))
        .AddNote(context_.range, "the gradient is asked for here");
    return false;
  }

  // Reports an operand on the way to the loss for which the rule gives no gradient.
  bool CheckAllGiven(const program::Gradient& rule, const program::Signature& signature,
                     const std::string& name) {
    for (size_t i = 0; i < signature.parameters.size(); ++i) {
      const bool given = llvm::any_of(rule.of, [&](const program::Argument& argument) {
        return argument.parameter == static_cast<int>(i);
      });
      if (given || !HasActive(context_.node.arguments[i])) continue;
      const std::string& operand = signature.parameters[i].name;
      Report(elaboration_, Code::kE0901, context_.node.range,
             fmt::format("`{0}` has no gradient of `{1}`, and the loss depends on what `of:` names "
                         "by way of it; stop_gradient({1}) counts it as a constant",
                         name, operand))
          .AddNote(context_.range, "the gradient is asked for here");
      return false;
    }
    return true;
  }

  bool ReportNone(const char* what, const std::string& name, Range declared) {
    Report(elaboration_, Code::kE0901, context_.node.range,
           fmt::format("{} `{}` declares no gradient, and the loss depends on what `of:` names by "
                       "way of it; declare one, or stop_gradient(x) its operand",
                       what, name))
        .AddNote(declared, "declared here")
        .AddNote(context_.range, "the gradient is asked for here");
    return false;
  }

  // ---- methods ----------------------------------------------------------------------------------

  // Calls the method that computes the gradients, with the arguments that its parameters name.
  bool ByMethod(program::MethodId id) {
    const program::Method& method = elaboration_.program.methods[id];
    const std::string place = elaboration_.module.instances[context_.node.instance].name;
    if (method.gradient_by.empty()) {
      Report(elaboration_, Code::kE0907, context_.node.range,
             fmt::format("`{}.{}` is native code, and no `grad by` says how it is differentiated{}",
                         place, method.name,
                         method.native->library == kPythonLibrary
                             ? "; with `grad by auto` behind it PyTorch does it"
                             : ""))
          .AddNote(method.range, "declared here")
          .AddNote(context_.range, "the gradient is asked for here");
      return false;
    }
    if (method.gradient_by == kGradientAuto) return ByAutograd(id, method, place);
    const program::MethodId by = FindMethod(elaboration_.program, method.actor, method.gradient_by);
    if (!by.valid()) return false;
    const program::Method& derived = elaboration_.program.methods[by];
    Frame callee = FrameOf(elaboration_, derived, context_.node.instance);
    const size_t first_op = elaboration_.builder->graph().ops.size();
    std::optional<std::vector<Actual>> actuals = ActualsOf(method, derived);
    if (!actuals || !BindParameters(elaboration_, derived.signature.parameters, *actuals, callee,
                                    context_.node.range)) {
      return false;
    }
    const Range site = context_.node.range;
    const Value result =
        derived.native ? CallExtern(elaboration_, derived, callee, site)
                       : CallBody(elaboration_, derived.signature, derived.body, callee, site);
    if (derived.native && !result.poisoned()) {
      RecordMethod(elaboration_, by, callee, result, TapeSize(elaboration_), site);
    }
    return !result.poisoned() && CheckGone(first_op) && ContributeByName(method, derived, result);
  }

  // Lets PyTorch go back through the call that it has made.
  bool ByAutograd(program::MethodId id, const program::Method& method, const std::string& place) {
    if (!CheckNoCopy(place)) return false;
    AutogradCall call;
    std::vector<int64_t> wanted;
    std::vector<Tensor> operands;
    int64_t at = 0;  // among what the method is given
    for (const Value& argument : context_.node.arguments) {
      if (AttributeOf("", argument)) ++at;
      ForEachTensor(argument, [&](const Tensor& tensor) {
        if (IsActive(tensor)) {
          wanted.push_back(at);
          operands.push_back(tensor);
          call.types.push_back(maker_.type(tensor));
        }
        ++at;
      });
    }
    ForEachTensor(context_.node.result, [&, result = 0](const Tensor& tensor) mutable {
      call.forward = elaboration_.builder->value(tensor.value).producer;
      const auto found = context_.gradients.find(tensor.value);
      if (found != context_.gradients.end()) call.gradients.emplace_back(result, found->second);
      ++result;
    });
    if (!KeepOnce(method, place, call.forward, wanted)) return false;
    const std::vector<Tensor> made = CallAutograd(elaboration_, method, call, context_.node.range);
    if (made.size() != operands.size()) return false;
    std::vector<Value> arguments = context_.node.arguments;
    for (const auto& [result, gradient] : call.gradients) arguments.emplace_back(gradient);
    RecordBackward(elaboration_, id, std::move(arguments),
                   MakeList(elaboration_, context_.node.range, {made.begin(), made.end()}),
                   context_.node.instance, context_.node.range);
    for (size_t i = 0; i < made.size(); ++i) {
      if (!contribute_(operands[i], made[i])) return false;
    }
    return true;
  }

  // Reports a place whose module would be a copy: the gradients that PyTorch keeps are not summed.
  bool CheckNoCopy(const std::string& place) {
    const InstanceDetails& details = elaboration_.places.instances[context_.node.instance.index];
    const program::Place& declared = elaboration_.program.places[details.place];
    if (declared.along.empty()) return true;
    Report(elaboration_, Code::kE0907, context_.node.range,
           fmt::format("`{}` is equal along {}, and PyTorch has the gradients of what its module "
                       "keeps: they are not summed over the copies; return them from a method, "
                       "and sum them by all_reduce()",
                       place, declared.along[0]))
        .AddNote(declared.range, "declared here");
    return false;
  }

  // Makes the forward call keep what its gradients need. Reports a call for which PyTorch cannot do
  // that: one that keeps it for other gradients, or that went back itself.
  bool KeepOnce(const program::Method& method, const std::string& place, graph::OpId forward,
                const std::vector<int64_t>& wanted) {
    const bool is_second = elaboration_.builder->graph().ops[forward].name != method.name;
    if (!is_second && KeepForAutograd(elaboration_, method, forward, wanted)) return true;
    Report(elaboration_, Code::kE0907, context_.node.range,
           is_second
               ? fmt::format("the loss depends on a gradient that PyTorch has computed for "
                             "`{}.{}`, and `grad by auto` has no second derivatives",
                             place, method.name)
               : fmt::format("gradients through this call of `{}.{}` are asked for twice, and "
                             "PyTorch keeps what they need for one time; ask once, of all",
                             place, method.name))
        .AddNote(context_.range,
                 is_second ? "the gradient is asked for here" : "the second time here");
    return false;
  }

  // Names what a method that computes gradients may take: the parameters of the other, its results
  // and their gradients, `y` and `gy` where it has one without a name.
  std::optional<std::vector<Actual>> ActualsOf(const program::Method& method,
                                               const program::Method& derived) {
    std::vector<std::pair<std::string, Value>> known;
    const std::vector<program::Parameter>& parameters = method.signature.parameters;
    for (size_t i = 0; i < parameters.size(); ++i) {
      known.emplace_back(parameters[i].name, context_.node.arguments[i]);
    }
    std::optional<Value> gradients = Gradients();
    if (!gradients) return std::nullopt;
    const Tuple* tuple = context_.node.result.As<Tuple>();
    if (tuple == nullptr) {
      known.emplace_back("y", context_.node.result);
      known.emplace_back("gy", *gradients);
    }
    for (size_t i = 0; tuple && i < tuple->items->names.size(); ++i) {
      known.emplace_back(tuple->items->names[i], tuple->items->values[i]);
      known.emplace_back("g_" + tuple->items->names[i], gradients->As<Tuple>()->items->values[i]);
    }
    std::vector<Actual> actuals;
    for (size_t i = 0; i < derived.signature.parameters.size(); ++i) {
      const program::Parameter& parameter = derived.signature.parameters[i];
      const auto found =
          llvm::find_if(known, [&](const auto& each) { return each.first == parameter.name; });
      if (found == known.end()) {
        if (parameter.default_value.valid()) continue;
        ReportNoSuchArgument(method, derived, parameter, known);
        return std::nullopt;
      }
      actuals.push_back(
          {parameter.name, Kept(found->second), context_.node.range, {}, static_cast<int>(i)});
    }
    return actuals;
  }

  void ReportNoSuchArgument(const program::Method& method, const program::Method& derived,
                            const program::Parameter& parameter,
                            const std::vector<std::pair<std::string, Value>>& known) {
    std::string names;
    for (const auto& [name, value] : known) names += (names.empty() ? "`" : ", `") + name + "`";
    Report(elaboration_, Code::kE0907, parameter.range,
           fmt::format("`{}` computes the gradients of `{}` and may take {}; `{}` is none of these",
                       derived.name, method.name, names, parameter.name));
  }

  bool ContributeByName(const program::Method& method, const program::Method& derived,
                        const Value& result) {
    const Tuple* tuple = result.As<Tuple>();
    const std::vector<program::Parameter>& parameters = method.signature.parameters;
    for (size_t i = 0; i < parameters.size(); ++i) {
      const Value& operand = context_.node.arguments[i];
      if (!HasActive(operand)) continue;
      const program::Argument argument{parameters[i].name, {}, derived.range, static_cast<int>(i)};
      if (tuple == nullptr && parameters.size() == 1) {
        return ContributeAll(operand, result, argument);
      }
      const auto at = tuple ? llvm::find(tuple->items->names, parameters[i].name)
                            : std::vector<std::string>::iterator();
      if (tuple == nullptr || at == tuple->items->names.end()) {
        Report(elaboration_, Code::kE0907, context_.node.range,
               fmt::format("`{}` returns no gradient of `{}`, which the loss depends on; it "
                           "returns gradients by the names of parameters: (x: ..., y: ...)",
                           derived.name, parameters[i].name))
            .AddNote(derived.range, "declared here");
        return false;
      }
      const Value& gradient = tuple->items->values[at - tuple->items->names.begin()];
      if (!ContributeAll(operand, gradient, argument)) return false;
    }
    return true;
  }

  // ---- kept values ------------------------------------------------------------------------------

  // Returns a value as a derived call reads it.
  Value Kept(const Value& value) {
    return MapLeaves(elaboration_, context_.node.range, value,
                     [&](const Value& leaf) { return Value(Kept(*leaf.As<Tensor>())); });
  }

  // A state that was written since is read as the value that was written to it. The value from
  // before the execution is gone: CheckGone reports ops that read it.
  Tensor Kept(Tensor tensor) {
    GraphBuilder& builder = *elaboration_.builder;
    const graph::Graph& graph = builder.graph();
    const graph::Value value = builder.value(tensor.value);
    if (value.storage != graph::Value::kState) return tensor;
    const ValueId root = graph::RootOf(graph, tensor.value);
    if (builder.CurrentState(value.state) == root) return tensor;
    if (!value.producer.valid()) {
      gone_[root] = value.state;
      return tensor;
    }
    const ValueId source = graph.ops[value.producer].operands[0].value;
    tensor.value = root == tensor.value
                       ? source
                       : builder.AddView(source, value.offset, value.type, context_.node.range);
    return Kept(tensor);
  }

  // Reports an op, of those from `first` on, that reads what is gone.
  bool CheckGone(size_t first) {
    const graph::Graph& graph = elaboration_.builder->graph();
    for (size_t i = first; i < graph.ops.size() && !gone_.empty(); ++i) {
      for (const graph::Use& use : graph.ops[graph::OpId(i)].operands) {
        const auto gone = gone_.find(graph::RootOf(graph, use.value));
        if (gone != gone_.end()) return ReportGone(gone->second);
      }
    }
    return true;
  }

  bool ReportGone(graph::StateId id) {
    const graph::State& state = elaboration_.module.states[id];
    const graph::Instance& instance = elaboration_.module.instances[state.instance];
    const std::string call =
        context_.forward ? fmt::format("`{}.{}`", instance.name, context_.forward->method) : "this";
    Report(elaboration_, Code::kE0904, context_.node.range,
           fmt::format("the gradient of {0} needs `{1}.{2}` as the execution found it, and it has "
                       "been written since; `let old = copy({2})` keeps it",
                       call, instance.name, state.name))
        .AddNote(context_.range, "the gradient is asked for here");
    return false;
  }

  // ---- activity ---------------------------------------------------------------------------------

  bool IsActive(const Tensor& tensor) const {
    return context_.activity.IsActive(graph::RootOf(elaboration_.builder->graph(), tensor.value));
  }

  bool HasActive(const Value& value) const {
    bool has = false;
    ForEachTensor(value, [&](const Tensor& tensor) { has = has || IsActive(tensor); });
    return has;
  }

  ElaborationContext& elaboration_;
  OpMaker& maker_;
  const RuleContext& context_;
  Contribute contribute_;
  std::map<ValueId, graph::StateId> gone_;  // values of states that were overwritten
};

}  // namespace

bool ApplyRule(ElaborationContext& elaboration, OpMaker& maker, const RuleContext& context,
               Contribute contribute) {
  return RuleApplier(elaboration, maker, context, contribute).Run();
}

}  // namespace cgraph::elaborate
