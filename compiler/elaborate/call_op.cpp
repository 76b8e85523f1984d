// Ops: arguments bound, types unified, one op appended to the graph.
#include <limits>

#include "compiler/base/limits.h"
#include "compiler/elaborate/arithmetic.h"
#include "compiler/elaborate/elaborator.h"
#include "compiler/program/text.h"
#include "fmt/format.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/SaveAndRestore.h"

namespace cgraph::elaboration {
namespace {

// An op takes about as much memory and time as this many expressions.
constexpr int64_t kStepsPerOp = 16;

// A list of compile-time ints, which is one attribute.
std::optional<std::vector<int64_t>> IntsOf(const Value& value) {
  const List* list = value.As<List>();
  if (!list || list->items->empty()) return std::nullopt;
  std::vector<int64_t> ints;
  for (const Value& item : *list->items) {
    const int64_t* number = item.As<int64_t>();
    if (!number) return std::nullopt;
    ints.push_back(*number);
  }
  return ints;
}

}  // namespace

Value Elaborator::Eval(const program::CallOp& e, const Context& context) {
  const program::Op& op = program_.ops[e.op];
  Frame op_frame(op.name, &op.signature, &op.locals);
  OpCall call{e.op};
  call.actuals =
      EvaluateArguments(e.arguments, &op.signature.parameters, op_frame, context.frame);
  CountFromTheEnd(op, call.actuals);
  call.expected = context.expected;
  call.range = context.range;
  if (e.type_argument.valid()) {
    const program::Type& type = program_.types[e.type_argument];
    if (auto* tensor = std::get_if<program::TensorType>(&type.node)) {
      call.type_argument = ConcreteType(*tensor, context.frame, type.range);
    }
    if (!call.type_argument) return Value();
  }
  return CallOperation(call, op_frame);
}

Value Elaborator::Eval(const program::Cast& e, const Context& context) {
  const auto* type = std::get_if<program::TensorType>(&program_.types[e.type].node);
  OpCall call{program_.cast_op};
  call.actuals = {{"", Evaluate(e.operand, context.frame), program_.exprs[e.operand].range}};
  call.range = context.range;
  if (!type) return Value();
  call.dtype_argument = type->dtype;
  if (!type->dtype) {  // cast<T>(x) where T is a dtype variable
    const std::optional<BoundDType>& bound = context.frame.generics[type->generic.index];
    if (bound) call.dtype_argument = bound->dtype;
  }
  return CallOperation(call);
}

Value Elaborator::CallOperation(const OpCall& call) {
  const program::Op& op = program_.ops[call.op];
  Frame op_frame(op.name, &op.signature, &op.locals);
  return CallOperation(call, op_frame);
}

Value Elaborator::CallOperation(const OpCall& call, Frame& op_frame) {
  const program::Op& op = program_.ops[call.op];
  if (op.kernel == "sqrt" && call.actuals.size() == 1) {  // of a number it is a number
    Folded folded = FoldSquareRoot(call.actuals[0].value);
    if (!folded.problem.empty()) Report(Code::kE0503, call.range, folded.problem);
    if (!folded.problem.empty() || folded.value) return folded.value.value_or(Value());
  }
  if (!builder_) {
    Report(Code::kE0406, call.range,
           fmt::format("`{}` works on tensors; a value known at compile time is needed here",
                       op.name));
    return Value();
  }
  if (op.kernel == "load" && !in_start_) {
    Report(Code::kE0518, call.range,
           fmt::format("`{}` reads weights once, before anything runs: only in a state's initial "
                       "value",
                       op.name));
    return Value();
  }
  if (!Step(call.range, kStepsPerOp)) return Value();
  inlined_.push_back({&op_frame, call.range, &op});
  auto leave = llvm::make_scope_exit([&] { inlined_.pop_back(); });
  bool typed = BindParameters(op.signature.parameters, call.actuals, op_frame, call.range,
                              op.where) &&
               TakeExpectedType(call, op_frame) && ApplyWhere(call, op_frame) &&
               (op.kernel != "same" || CheckSame(call, op_frame));
  return typed ? EmitOp(call, op_frame) : Value();
}

namespace {

// The argument of a parameter; null for a default.
Actual* ActualFor(const program::Op& op, size_t parameter, std::vector<Actual>& actuals) {
  for (size_t i = 0; i < actuals.size(); ++i) {
    bool meant = actuals[i].label.empty()
                     ? i == parameter
                     : actuals[i].label == op.signature.parameters[parameter].name;
    if (meant) return &actuals[i];
  }
  return nullptr;
}

// Whether `dim` of an op says where a new dimension goes: its tensor is declared by runs alone, and
// its result has a dimension more.
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

}  // namespace

// `dim: -1` is the last dimension of the op's first tensor, as in NumPy; `dims` is a list of such.
void Elaborator::CountFromTheEnd(const program::Op& op, std::vector<Actual>& actuals) const {
  const Actual* first = op.signature.parameters.empty() ? nullptr : ActualFor(op, 0, actuals);
  if (!first) return;
  const List* items = first->value.As<List>();
  const Tensor* tensor = items && !items->items->empty() ? items->items->front().As<Tensor>()
                                                         : first->value.As<Tensor>();
  if (!tensor) return;
  const int64_t rank = builder_->type(tensor->value).dims.size() + AddsDimension(program_, op);
  for (size_t i = 0; i < op.signature.parameters.size(); ++i) {
    const std::string& name = op.signature.parameters[i].name;
    if (name != "dim" && name != "dims") continue;
    Actual* given = ActualFor(op, i, actuals);
    if (!given) continue;
    auto counted = [&](const Value& value) {
      const int64_t* dim = value.As<int64_t>();
      return dim && *dim < 0 && *dim >= -rank ? Value(*dim + rank) : value;
    };
    if (const List* list = given->value.As<List>()) {
      std::vector<Value> dims;
      for (const Value& item : *list->items) dims.push_back(counted(item));
      given->value = MakeList(std::move(dims));
    } else {
      given->value = counted(given->value);
    }
  }
}

// What `same` would find out in vain: extents that cannot be equal.
bool Elaborator::CheckSame(const OpCall& call, Frame& op_frame) {
  const program::Op& op = program_.ops[call.op];
  const int64_t dim = *op_frame.locals[op.signature.parameters[2].local.index]->As<int64_t>();
  auto dim_of = [&](size_t parameter) {
    const Value& value = *op_frame.locals[op.signature.parameters[parameter].local.index];
    return builder_->type(value.As<Tensor>()->value).dims[dim];
  };
  const graph::Dim x = dim_of(0), y = dim_of(1);
  const bool possible = (x.symbol.valid() || x.extent <= y.extent) &&
                        (y.symbol.valid() || y.extent <= x.extent);
  if (possible) return true;
  auto text = [](const graph::Dim& d) {
    return d.symbol.valid() ? fmt::format("at most {}", d.extent) : std::to_string(d.extent);
  };
  Report(Code::kE0507, call.range,
         fmt::format("`same`: dimension {} is {} and {}, which are never equal", dim, text(x),
                     text(y)));
  return false;
}

bool Elaborator::ApplyWhere(const OpCall& call, Frame& op_frame) {
  const program::Op& op = program_.ops[call.op];
  if (!op.where.valid()) return true;
  std::optional<bool> holds = Holds(op.where, op_frame);
  if (!holds || *holds) return holds.has_value();
  std::string given;
  for (const program::Parameter& parameter : op.signature.parameters) {
    const Value& value = *op_frame.locals[parameter.local.index];
    given += fmt::format("{}{} is {}", given.empty() ? "" : ", ", parameter.name,
                         value.As<Tensor>() ? Describe(value) : ScalarText(value));
  }
  const program::TextPrinter printer(program_, &op.signature, &op.locals);
  std::string needed = printer.Text(op.where);
  auto* chain = std::get_if<program::Chain>(&program_.exprs[op.where].node);
  if (chain && chain->operators.size() == 1 &&
      chain->operators[0] == BinaryOperator::kEqual) {  // without what is decided already
    needed = fmt::format("{} == {}", printer.Text(Reduce(chain->operands[0], op_frame)),
                         printer.Text(Reduce(chain->operands[1], op_frame)));
  }
  Report(Code::kE0517, call.range,
         fmt::format("`{}` does not take these: {}, and it needs {}", op.name, given, needed))
      .AddNote(op.range, "declared here");
  return false;
}

// Whether an expression is a run of dimensions.
bool Elaborator::IsRun(program::ExprId id, const Frame& frame) const {
  const auto& node = program_.exprs[id].node;
  if (auto* dim = std::get_if<program::DimRef>(&node)) {
    return frame.signature->dim_variables[dim->variable].run;
  }
  auto* call = std::get_if<program::CallBuiltin>(&node);
  return call && (call->builtin == program::Builtin::kBroadcast ||
                  call->builtin == program::Builtin::kPermuted ||
                  call->builtin == program::Builtin::kDrop);
}

// Of two dimensions `==` asks whether they are the same one, also where it is known only while
// running.
std::optional<bool> Elaborator::Holds(program::ExprId where, Frame& op_frame) {
  auto* chain = std::get_if<program::Chain>(&program_.exprs[where].node);
  if (chain && chain->operators[0] == BinaryOperator::kAnd) {
    bool all = true;
    for (program::ExprId operand : chain->operands) {
      std::optional<bool> holds = Holds(operand, op_frame);
      if (!holds) return std::nullopt;
      all &= *holds;
    }
    return all;
  }
  if (chain && chain->operators.size() == 1 &&
      chain->operators[0] == BinaryOperator::kEqual && IsRun(chain->operands[0], op_frame)) {
    std::optional<Dims> a = EvaluateRun(chain->operands[0], op_frame);
    std::optional<Dims> b = a ? EvaluateRun(chain->operands[1], op_frame) : std::nullopt;
    if (!b) return std::nullopt;
    return *a == *b;
  }
  if (chain && chain->operators.size() == 1 &&
      chain->operators[0] == BinaryOperator::kEqual) {
    program::ExprId left = Reduce(chain->operands[0], op_frame);
    program::ExprId right = Reduce(chain->operands[1], op_frame);
    if (std::holds_alternative<program::DimRef>(program_.exprs[left].node) &&
        std::holds_alternative<program::DimRef>(program_.exprs[right].node)) {
      std::optional<graph::Dim> a = EvaluateDim(left, op_frame);
      std::optional<graph::Dim> b = EvaluateDim(right, op_frame);
      if (!a || !b) return std::nullopt;
      return *a == *b;
    }
  }
  llvm::SaveAndRestore<Mode> numbers(mode_, Mode::kDims);
  return EvaluateCondition(where, op_frame);
}

// What the arguments leave open in the result (`zeros() -> T[*s]`) the type argument says, or else
// what is expected where the call stands.
bool Elaborator::TakeExpectedType(const OpCall& call, Frame& op_frame) {
  const program::Op& op = program_.ops[call.op];
  program::TypeId result = op.signature.result;
  if (!result.valid()) return true;
  const Subject subject{"the result", nullptr, op.range};
  auto* type = std::get_if<program::TensorType>(&program_.types[result].node);
  if (type && call.dtype_argument &&
      !BindDType(*type, *call.dtype_argument, op_frame, subject, call.range)) {
    return false;
  }
  if (!type) return true;
  bool open = !type->dtype && !op_frame.generics[type->generic.index];
  for (const program::Dim& dim : type->dims) {
    open |= dim.variable.valid() && dim.kind != program::Dim::kBounded &&
            !op_frame.dims[dim.variable.index];
  }
  std::optional<graph::Type> concrete = call.type_argument;
  const program::Type* expected = ExpectedTensor(call.expected);
  if (!concrete && open && expected) {
    concrete = ConcreteType(std::get<program::TensorType>(expected->node), *call.expected.frame,
                            expected->range);
    if (!concrete) return false;
  }
  if (!concrete && open) {
    Report(Code::kE0510, call.range,
           fmt::format("nothing here says what type `{}` is to make; write {}<f32[...]>(...)",
                       op.name, op.name));
    return false;
  }
  if (!concrete) return true;
  return BindDType(*type, concrete->dtype, op_frame, subject, call.range) &&
         MatchDims({result, *concrete, op_frame, subject, call.range});
}

// Compile-time arguments become attributes, tensors operands.
void Elaborator::AddParameters(const OpCall& call, Frame& op_frame, graph::Op& out) {
  const program::Op& op = program_.ops[call.op];
  for (size_t i = 0; i < op.signature.parameters.size(); ++i) {
    const program::Parameter& parameter = op.signature.parameters[i];
    const Value& value = *op_frame.locals[parameter.local.index];
    int operand = out.operands.size();
    if (std::optional<std::vector<int64_t>> ints = IntsOf(value)) {
      out.attributes.push_back({parameter.name, std::move(*ints)});
      continue;
    }
    if (static_cast<int>(i) == op.inplace) out.inplace.push_back({operand, 0});
    if (auto* number = value.As<int64_t>()) {
      out.attributes.push_back({parameter.name, *number});
    } else if (auto* real = value.As<double>()) {
      out.attributes.push_back({parameter.name, *real});
    } else if (auto* truth = value.As<bool>()) {
      out.attributes.push_back({parameter.name, *truth});
    } else if (auto* text = value.As<std::string>()) {
      out.attributes.push_back({parameter.name, *text});
    } else {
      MapLeaves(value, [&](const Value& leaf) {
        const Tensor& tensor = *leaf.As<Tensor>();
        out.operands.push_back(
            {tensor.value, tensor.via, tensor.use.valid() ? tensor.use : call.range});
        return leaf;
      });
    }
  }
}

// Overwriting is for values that this graph made, whose type the result has, and of which the op
// reads nothing else.
bool Elaborator::MayOverwrite(const std::vector<graph::Use>& operands, size_t at,
                              const graph::Type& result) const {
  if (at >= operands.size()) return false;
  const graph::Value& operand = builder_->value(operands[at].value);
  if (operand.storage != graph::Value::kTemporary || operand.base.valid()) return false;
  for (size_t i = 0; i < operands.size(); ++i) {
    graph::ValueId root = builder_->value(operands[i].value).base;
    if (!root.valid()) root = operands[i].value;
    if (i != at && root == operands[at].value) return false;
  }
  return operand.type == result;
}

// Only lists can be that many.
bool Elaborator::CheckOperands(const std::string& name, size_t taken, size_t made, Range range) {
  const size_t most = std::max(taken, made);
  if (most <= kMaxOperands) return true;
  const char* does = taken == most ? "takes" : "makes";
  Report(Code::kE0521, range,
         fmt::format("`{}` {} {} tensors here, and one call {} at most {}: call it on parts of the "
                     "list",
                     name, does, most, does, kMaxOperands));
  return false;
}

Value Elaborator::EmitOp(const OpCall& call, Frame& op_frame) {
  const program::Op& op = program_.ops[call.op];
  std::vector<graph::Type> types;
  if (op.signature.result.valid() &&
      !ResultTypes(op.signature.result, op_frame, types, call.range)) {
    return Value();
  }
  graph::Op out;
  out.name = op.name;
  out.kernel = op.kernel;
  out.fails = op.fails;
  out.effect = !op.effect.empty();
  out.elementwise = op.elementwise;
  out.range = call.range;
  AddParameters(call, op_frame, out);
  if (!CheckOperands(op.name, out.operands.size(), types.size(), call.range)) return Value();
  llvm::erase_if(out.inplace, [&](const std::pair<int, int>& pair) {
    return types.empty() || !MayOverwrite(out.operands, pair.first, types[0]);
  });
  out.device = DeviceOfOp(out.operands);
  for (const graph::Use& operand : out.operands) CheckTransport(operand, out.device);
  out.flops = Cost(op.flops, op_frame);
  out.bytes = Cost(op.bytes, op_frame);
  out.call = method_ ? CallOf(*method_)
                     : builder_->AddCall(MakeCall({}, op.name, out.device, call.range));
  graph::OpId id = builder_->AddOp(std::move(out), std::move(types));
  if (!op.signature.result.valid()) return MakeTuple({}, {});
  const std::vector<graph::ValueId> results = builder_->graph().ops[id].results;
  llvm::ArrayRef<graph::ValueId> rest = results;
  return TakeResults(op.signature.result, op_frame, rest);
}

bool Elaborator::ResultTypes(program::TypeId type_id, Frame& op_frame,
                             std::vector<graph::Type>& types, Range range) {
  const auto& type = program_.types[type_id].node;
  if (auto* tensor = std::get_if<program::TensorType>(&type)) {
    std::optional<graph::Type> concrete = ConcreteType(*tensor, op_frame, range);
    if (concrete) types.push_back(std::move(*concrete));
    return concrete.has_value();
  }
  if (auto* tuple = std::get_if<program::TupleType>(&type)) {
    return llvm::all_of(tuple->fields, [&](const auto& field) {
      return ResultTypes(field.type, op_frame, types, range);
    });
  }
  if (auto* list = std::get_if<program::ListType>(&type)) {
    std::optional<int64_t> length = EvaluateDimInt(list->length, op_frame, "a list's length");
    if (!length || !CheckListLength(*length, range)) return false;
    for (int64_t i = 0; i < *length; ++i) {
      if (!Step(range) || !ResultTypes(list->element, op_frame, types, range)) return false;
    }
    return true;
  }
  Report(Code::kE0406, range, "an op makes tensors, not compile-time values");
  return false;
}

// The values of an op in the shape of its result type; takes them from the front of `rest`.
Value Elaborator::TakeResults(program::TypeId type_id, Frame& op_frame,
                              llvm::ArrayRef<graph::ValueId>& rest) {
  const auto& type = program_.types[type_id].node;
  if (auto* tuple = std::get_if<program::TupleType>(&type)) {
    std::vector<std::string> names;
    std::vector<Value> values;
    bool named = false;
    for (const program::TupleType::Field& field : tuple->fields) {
      values.push_back(TakeResults(field.type, op_frame, rest));
      names.push_back(field.name);
      named |= !field.name.empty();
    }
    if (!named) names.clear();
    return MakeTuple(std::move(names), std::move(values));
  }
  if (auto* list = std::get_if<program::ListType>(&type)) {
    std::vector<Value> values;
    int64_t length = EvaluateDimInt(list->length, op_frame, "a list's length").value_or(0);
    for (int64_t i = 0; i < length; ++i) {
      values.push_back(TakeResults(list->element, op_frame, rest));
    }
    return MakeList(std::move(values));
  }
  Value value(Tensor{rest.front()});
  rest = rest.drop_front();
  return value;
}

// A cost that does not fit is as large as can be said: it orders and times, it does not size.
int64_t Elaborator::Cost(program::ExprId expr, Frame& op_frame) {
  if (!expr.valid()) return 0;
  llvm::SaveAndRestore<Mode> at_bounds(mode_, Mode::kCost);
  Value cost = Evaluate(expr, op_frame);
  const int64_t* number = cost.As<int64_t>();
  return number ? std::max<int64_t>(*number, 0) : 0;
}

}  // namespace cgraph::elaboration
