#include "compiler/elaborate/ops/ops.h"

#include <algorithm>
#include <numeric>

#include "compiler/elaborate/budget.h"
#include "compiler/elaborate/calls/method_scope.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/gradients/tape.h"
#include "compiler/elaborate/places/places.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/types/dims.h"
#include "compiler/elaborate/values/make.h"
#include "compiler/graph/fuse/fuse.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SaveAndRestore.h"

namespace cgraph::elaborate {
namespace {

// Returns the device of an op. In a method it is the actor's. Elsewhere it is the one that `on`
// names; else the home of the first placed operand, where values of the caller count only when
// nothing else is placed.
graph::DeviceId DeviceOfOp(ElaborationContext& elaboration,
                           const std::vector<graph::Use>& operands) {
  if (elaboration.method) return elaboration.method->call.device;
  if (elaboration.on) {
    ++elaboration.ops_placed;
    return *elaboration.on;
  }
  for (const graph::Use& operand : operands) {
    graph::DeviceId home = elaboration.builder->value(operand.value).home;
    if (home.valid() && home != kCaller) return home;
  }
  return kCaller;
}

// Returns the parameters that the kernel is given, in its order.
std::vector<int> TakenParameters(const program::Op& op) {
  if (!op.takes.empty()) return op.takes;
  std::vector<int> all(op.signature.parameters.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// Adds compile-time arguments as attributes, tensors as operands.
void AddParameters(ElaborationContext& elaboration, const OpCall& call, Frame& op_frame,
                   graph::Op& out) {
  const program::Op& op = elaboration.program.ops[call.op];
  for (int i : TakenParameters(op)) {
    const program::Parameter& parameter = op.signature.parameters[i];
    const Value& value = *op_frame.locals[parameter.local.index];
    if (std::optional<graph::Attribute> attribute = AttributeOf(parameter.name, value)) {
      out.attributes.push_back(std::move(*attribute));
      continue;
    }
    if (i == op.inplace) out.inplace.push_back({static_cast<int>(out.operands.size()), 0});
    MapLeaves(elaboration, call.range, value, [&](const Value& leaf) {
      const Tensor& tensor = *leaf.As<Tensor>();
      out.operands.push_back(
          {tensor.value, tensor.via, tensor.use.valid() ? tensor.use : call.range});
      return leaf;
    });
  }
}

// Returns whether a result is as long as an operand says, which may be more than its bound.
bool MakesExtents(const ElaborationContext& elaboration, const graph::Op& op,
                  const std::vector<graph::Type>& types) {
  const graph::Graph& graph = elaboration.builder->graph();
  return llvm::any_of(types, [&](const graph::Type& type) {
    return llvm::any_of(type.dims, [&](const graph::Dim& dim) {
      return dim.symbol.valid() && llvm::any_of(op.operands, [&](const graph::Use& operand) {
        return operand.value == graph.symbols[dim.symbol].extent;
      });
    });
  });
}

// Returns the ints of a list that has nothing else.
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

// Returns the operand of a cast to the dtype that it has, which needs no op: a program casts to a
// `type` that -D chooses. Outside of methods an op is a call, which rules may name.
std::optional<Value> OperandOfEmptyCast(ElaborationContext& elaboration, const OpCall& call,
                                        const Frame& op_frame, const graph::Type& result) {
  if (call.op != elaboration.program.cast_op || !elaboration.method) return std::nullopt;
  const program::Parameter& x = elaboration.program.ops[call.op].signature.parameters[0];
  const Value& operand = *op_frame.locals[x.local.index];
  const Tensor* tensor = operand.As<Tensor>();
  if (!tensor || elaboration.builder->type(tensor->value) != result) return std::nullopt;
  return operand;
}

}  // namespace

std::optional<graph::Attribute> AttributeOf(const std::string& name, const Value& value) {
  if (auto* number = value.As<int64_t>()) return graph::Attribute{name, *number};
  if (auto* real = value.As<double>()) return graph::Attribute{name, *real};
  if (auto* truth = value.As<bool>()) return graph::Attribute{name, *truth};
  if (auto* text = value.As<std::string>()) return graph::Attribute{name, *text};
  if (auto ints = IntsOf(value)) return graph::Attribute{name, std::move(*ints)};
  return std::nullopt;
}

bool ResultTypes(ElaborationContext& elaboration, program::TypeId type_id, Frame& op_frame,
                 std::vector<graph::Type>& types, Range range) {
  const auto& type = elaboration.program.types[type_id].node;
  if (auto* tensor = std::get_if<program::TensorType>(&type)) {
    std::optional<graph::Type> concrete = ConcreteType(elaboration, *tensor, op_frame, range);
    if (concrete) types.push_back(std::move(*concrete));
    return concrete.has_value();
  }
  if (auto* tuple = std::get_if<program::TupleType>(&type)) {
    return llvm::all_of(tuple->fields, [&](const auto& field) {
      return ResultTypes(elaboration, field.type, op_frame, types, range);
    });
  }
  if (auto* list = std::get_if<program::ListType>(&type)) {
    std::optional<int64_t> length =
        EvaluateDimInt(elaboration, list->length, op_frame, "a list's length");
    if (!length || !CheckListLength(elaboration, *length, range)) return false;
    for (int64_t i = 0; i < *length; ++i) {
      if (!Step(elaboration, range) ||
          !ResultTypes(elaboration, list->element, op_frame, types, range))
        return false;
    }
    return true;
  }
  Report(elaboration, Code::kE0406, range, "an op makes tensors, not compile-time values");
  return false;
}

Value TakeResults(ElaborationContext& elaboration, program::TypeId type_id, Frame& op_frame,
                  Range range, llvm::ArrayRef<graph::ValueId>& rest) {
  const auto& type = elaboration.program.types[type_id].node;
  if (auto* tuple = std::get_if<program::TupleType>(&type)) {
    std::vector<std::string> names;
    std::vector<Value> values;
    for (const program::TupleType::Field& field : tuple->fields) {
      values.push_back(TakeResults(elaboration, field.type, op_frame, range, rest));
      names.push_back(field.name);
    }
    return MakeTuple(elaboration, range, std::move(names), std::move(values));
  }
  if (auto* list = std::get_if<program::ListType>(&type)) {
    std::vector<Value> values;
    int64_t length =
        EvaluateDimInt(elaboration, list->length, op_frame, "a list's length").value_or(0);
    for (int64_t i = 0; i < length; ++i) {
      values.push_back(TakeResults(elaboration, list->element, op_frame, range, rest));
    }
    return MakeList(elaboration, range, std::move(values));
  }
  Value value(Tensor{rest.front()});
  rest = rest.drop_front();
  return value;
}

int64_t CostOf(ElaborationContext& elaboration, program::ExprId expr, Frame& op_frame) {
  if (!expr.valid()) return 0;
  llvm::SaveAndRestore<ArithmeticMode> at_bounds(elaboration.arithmetic, ArithmeticMode::kCost);
  Value cost = Evaluate(elaboration, expr, op_frame);
  const int64_t* number = cost.As<int64_t>();
  return number ? std::max<int64_t>(*number, 0) : 0;
}

Value EmitOp(ElaborationContext& elaboration, const OpCall& call, Frame& op_frame) {
  const program::Op& op = elaboration.program.ops[call.op];
  std::vector<graph::Type> types;
  if (op.signature.result.valid() &&
      !ResultTypes(elaboration, op.signature.result, op_frame, types, call.range)) {
    return Value();
  }
  if (types.size() == 1) {
    if (!CheckMadeNumbers(elaboration, call, op_frame, types[0])) return Value();
    if (auto operand = OperandOfEmptyCast(elaboration, call, op_frame, types[0])) return *operand;
  }
  graph::Op out;
  out.name = op.name;
  out.kernel = op.kernel;
  out.fails = op.fails;  // or by its extents, see below
  out.effect = !op.effect.empty();
  out.elementwise = op.elementwise;
  out.range = call.range;
  AddParameters(elaboration, call, op_frame, out);
  if (!CheckOperands(elaboration, op.name, out.operands.size(), types.size(), call.range))
    return Value();
  if (!CheckConstantIndices(elaboration, call, out)) return Value();
  out.fails |= MakesExtents(elaboration, out, types);
  // A state too: its new value may be made where the old one lies
  // (graph/fuse/fuse.h).
  llvm::erase_if(out.inplace, [&](const std::pair<int, int>& pair) {
    const size_t at = pair.first;
    if (types.empty() || at >= out.operands.size()) return true;
    const graph::Value& operand = elaboration.builder->value(out.operands[at].value);
    graph::Value result;
    result.type = types[0];
    result.storage = operand.storage;
    result.state = operand.state;
    return !MayOverwrite(elaboration.builder->graph(), out.operands, at, result);
  });
  out.device = DeviceOfOp(elaboration, out.operands);
  for (const graph::Use& operand : out.operands) CheckTransport(elaboration, operand, out.device);
  out.flops = CostOf(elaboration, op.flops, op_frame);
  out.bytes = CostOf(elaboration, op.bytes, op_frame);
  out.call = elaboration.method ? CallOf(elaboration, *elaboration.method)
                                : elaboration.builder->AddCall(
                                      MakeCall(elaboration, {}, op.name, out.device, call.range));
  graph::OpId id = elaboration.builder->AddOp(std::move(out), std::move(types));
  if (!op.signature.result.valid()) return Nothing();
  const std::vector<graph::ValueId> results = elaboration.builder->graph().ops[id].results;
  llvm::ArrayRef<graph::ValueId> rest = results;
  Value result = TakeResults(elaboration, op.signature.result, op_frame, call.range, rest);
  RecordOp(elaboration, call.op, op_frame, result, call.range);
  return result;
}

}  // namespace cgraph::elaborate
