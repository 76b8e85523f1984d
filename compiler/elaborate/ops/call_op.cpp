#include "compiler/elaborate/ops/ops.h"

#include <fmt/format.h>

#include "compiler/base/kernels.h"
#include "compiler/elaborate/budget.h"
#include "compiler/elaborate/calls/arguments.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/expressions/eval.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/types/coerce.h"
#include "compiler/elaborate/types/dims.h"
#include "compiler/elaborate/types/unify.h"
#include "compiler/elaborate/values/arithmetic.h"
#include "compiler/elaborate/values/make.h"
#include "compiler/elaborate/values/quotients.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

namespace cgraph::elaborate {
namespace {

// The steps for an op, in expressions, by its memory and time.
constexpr int64_t kStepsPerOp = 16;

// Returns whether `dim` of an op says where a new dimension goes: its tensor is declared by runs
// alone, and its result has a dimension more.
bool AddsDimension(const program::Program& program, const program::Op& op) {
  program::TypeId from = op.signature.parameters[0].type;
  if (auto* list = std::get_if<program::ListType>(&program.types[from].node)) from = list->element;
  auto* x = std::get_if<program::TensorType>(&program.types[from].node);
  auto* result = op.signature.result.valid()
                     ? std::get_if<program::TensorType>(&program.types[op.signature.result].node)
                     : nullptr;
  return x && result && result->dims.size() > x->dims.size() &&
         llvm::all_of(x->dims, [](const auto& dim) { return dim.kind == program::Dim::kRun; });
}

// Gives a dimension that is left to its default, as -1, the place of an argument, where the op's
// first tensor is cut there (`*s, n, *r`): only arguments are counted from the end.
void GiveDefaultDim(ElaborationContext& elaboration, const program::Op& op, Frame& op_frame,
                    std::vector<Actual>& actuals) {
  const std::vector<program::Parameter>& parameters = op.signature.parameters;
  if (parameters.empty()) return;
  auto* x = std::get_if<program::TensorType>(&elaboration.program.types[parameters[0].type].node);
  if (!x || x->dims.size() < 2) return;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const program::Parameter& parameter = parameters[i];
    if (parameter.axis != program::AxisRole::kAxis || !parameter.default_value.valid() ||
        ActualFor(i, actuals)) {
      continue;
    }
    Actual& actual = actuals.emplace_back();
    actual.label = parameter.name;
    actual.value = Evaluate(elaboration, parameter.default_value, op_frame);
    actual.range = parameter.range;
    actual.parameter = static_cast<int>(i);
  }
}

// Counts dimensions from the end: `dim: -1` is the last dimension of the op's first tensor, as in
// NumPy; `dims` is a list of such.
void CountFromTheEnd(ElaborationContext& elaboration, const program::Op& op,
                     std::vector<Actual>& actuals) {
  const Actual* first = op.signature.parameters.empty() ? nullptr : ActualFor(0, actuals);
  if (!first) return;
  const List* items = first->value.As<List>();
  const Tensor* tensor = items && !items->items->empty() ? items->items->front().As<Tensor>()
                                                         : first->value.As<Tensor>();
  if (!tensor) return;
  const int64_t rank =
      elaboration.builder->type(tensor->value).dims.size() + AddsDimension(elaboration.program, op);
  for (size_t i = 0; i < op.signature.parameters.size(); ++i) {
    if (op.signature.parameters[i].axis == program::AxisRole::kNone) continue;
    const Actual* actual = ActualFor(i, actuals);
    if (!actual) continue;
    Actual* given = &actuals[actual - actuals.data()];
    auto counted = [&](const Value& value) {
      const int64_t* dim = value.As<int64_t>();
      return dim && *dim < 0 && *dim >= -rank ? Value(*dim + rank) : value;
    };
    if (const List* list = given->value.As<List>()) {
      std::vector<Value> dims;
      for (const Value& item : *list->items) dims.push_back(counted(item));
      given->value = MakeList(elaboration, given->range, std::move(dims));
    } else {
      given->value = counted(given->value);
    }
  }
}

// Binds what the arguments leave open in the result (`zeros() -> T[*s]`), by the type argument or
// else by the type that is expected where the call stands.
bool TakeExpectedType(ElaborationContext& elaboration, const OpCall& call, Frame& op_frame) {
  const program::Op& op = elaboration.program.ops[call.op];
  program::TypeId result = op.signature.result;
  if (!result.valid()) return true;
  const Subject subject{"the result", nullptr, op.range};
  auto* type = std::get_if<program::TensorType>(&elaboration.program.types[result].node);
  if (type && call.dtype_argument &&
      !BindDType(elaboration, *type, *call.dtype_argument, op_frame, subject, call.range)) {
    return false;
  }
  if (!type) return true;
  bool open = !type->dtype && !op_frame.generics[type->generic.index];
  for (const program::Dim& dim : type->dims) {
    open |= dim.variable.valid() && dim.kind != program::Dim::kBounded &&
            !op_frame.dims[dim.variable.index];
  }
  std::optional<graph::Type> concrete = call.type_argument;
  const program::Type* expected = ExpectedTensor(elaboration, call.expected);
  if (!concrete && open && expected) {
    concrete = ConcreteType(elaboration, std::get<program::TensorType>(expected->node),
                            *call.expected.frame, expected->range);
    if (!concrete) return false;
  }
  if (!concrete && open) {
    Report(elaboration, Code::kE0510, call.range,
           fmt::format("nothing here says what type `{}` is to make; write {}<f32[...]>(...)",
                       op.name, op.name));
    return false;
  }
  if (!concrete) return true;
  return BindDType(elaboration, *type, concrete->dtype, op_frame, subject, call.range) &&
         MatchDims(elaboration, {result, *concrete, op_frame, subject, call.range});
}

// Returns what a function of numbers makes of compile-time numbers; nothing where the op has other
// arguments, or works on tensors alone.
std::optional<Value> NumberOf(ElaborationContext& elaboration, const program::Op& op,
                              const OpCall& call) {
  using program::NumberFunction;
  std::optional<NumberFunction> function = op.on_numbers;
  if (op.kernel == kSquareRootKernel) function = NumberFunction::kSquareRoot;
  const size_t takes = op.signature.parameters.size();
  if (!function || call.actuals.size() != takes) return std::nullopt;
  const Actual* a = ActualFor(0, call.actuals);
  const Actual* b = ActualFor(takes - 1, call.actuals);
  if (!a || !b) return std::nullopt;
  Folded folded = FoldFunction(*function, a->value, b->value);
  if (!folded.problem.empty()) {
    Report(elaboration, Code::kE0503, call.range, folded.problem);
    return Value();
  }
  if (folded.value && folded.value->As<double>()) {
    WarnOfQuotientAsFloat(elaboration, a->value, a->range);
    WarnOfQuotientAsFloat(elaboration, b->value, b->range);
  }
  return folded.value;
}

Value CallOperation(ElaborationContext& elaboration, const OpCall& call, Frame& op_frame) {
  const program::Op& op = elaboration.program.ops[call.op];
  if (std::optional<Value> number = NumberOf(elaboration, op, call)) return *number;
  if (!elaboration.builder) {
    Report(elaboration, Code::kE0406, call.range,
           fmt::format("`{}` works on tensors; a value known at compile time is needed here",
                       op.name));
    return Value();
  }
  if (op.kernel == kLoadKernel && !elaboration.in_start) {
    Report(elaboration, Code::kE0518, call.range,
           fmt::format("`{}` reads weights once, before anything runs: only in a state's initial "
                       "value",
                       op.name));
    return Value();
  }
  if (!Step(elaboration, call.range, kStepsPerOp)) return Value();
  elaboration.backtrace.calls.push_back({&op_frame, call.range, &op});
  auto leave = llvm::make_scope_exit([&] { elaboration.backtrace.calls.pop_back(); });
  bool typed = BindParameters(elaboration, op.signature.parameters, call.actuals, op_frame,
                              call.range, op.where) &&
               TakeExpectedType(elaboration, call, op_frame) &&
               ApplyWhere(elaboration, call, op_frame) &&
               (op.kernel != kSameKernel || CheckSame(elaboration, call, op_frame));
  return typed ? EmitOp(elaboration, call, op_frame) : Value();
}

}  // namespace

Value CallOperation(ElaborationContext& elaboration, const OpCall& call) {
  const program::Op& op = elaboration.program.ops[call.op];
  Frame op_frame(op.name, &op.signature, &op.locals);
  return CallOperation(elaboration, call, op_frame);
}

Value Eval(ElaborationContext& elaboration, const program::CallOp& e, const Context& context) {
  const program::Op& op = elaboration.program.ops[e.op];
  Frame op_frame(op.name, &op.signature, &op.locals);
  OpCall call{e.op};
  call.actuals = EvaluateArguments(elaboration, e.arguments, &op.signature.parameters, op_frame,
                                   context.frame);
  GiveDefaultDim(elaboration, op, op_frame, call.actuals);
  CountFromTheEnd(elaboration, op, call.actuals);
  call.expected = context.expected;
  call.range = context.range;
  if (e.type_argument.valid()) {
    const program::Type& type = elaboration.program.types[e.type_argument];
    if (auto* tensor = std::get_if<program::TensorType>(&type.node)) {
      call.type_argument = ConcreteType(elaboration, *tensor, context.frame, type.range);
    }
    if (!call.type_argument) return Value();
  }
  return CallOperation(elaboration, call, op_frame);
}

Value Eval(ElaborationContext& elaboration, const program::Cast& e, const Context& context) {
  const auto* type = std::get_if<program::TensorType>(&elaboration.program.types[e.type].node);
  OpCall call{elaboration.program.cast_op};
  call.actuals = {{"", Evaluate(elaboration, e.operand, context.frame),
                   elaboration.program.exprs[e.operand].range}};
  call.range = context.range;
  if (!type) return Value();
  call.dtype_argument = type->dtype;
  if (!type->dtype) {  // cast<T>(x) where T is a dtype variable
    const std::optional<BoundDType>& bound = context.frame.generics[type->generic.index];
    if (bound) call.dtype_argument = bound->dtype;
  }
  return CallOperation(elaboration, call);
}

}  // namespace cgraph::elaborate
