#include "compiler/elaborate/gradients/make_op.h"

#include "compiler/elaborate/ops/ops.h"
#include "compiler/elaborate/values/make.h"

namespace cgraph::elaborate {

bool IsParam(const ElaborationContext& elaboration, graph::ValueId id) {
  const graph::StateId state = elaboration.builder->value(id).state;
  return state.valid() && elaboration.places.params.count(state) != 0;
}

graph::Type GradientType(const ElaborationContext& elaboration, graph::ValueId id) {
  graph::Type type = elaboration.builder->type(id);
  const bool is_short = type.dtype == DType::kF16 || type.dtype == DType::kBF16;
  if (is_short && IsParam(elaboration, id)) type.dtype = DType::kF32;
  return type;
}

Tensor OpMaker::Make(program::OpId op, std::vector<Value> arguments,
                     std::optional<graph::Type> type, std::optional<DType> dtype) {
  OpCall call{op};
  for (Value& argument : arguments) {
    const Tensor* tensor = argument.As<Tensor>();
    if (tensor != nullptr && !tensor->value.valid()) return {};  // reported
    call.actuals.push_back({"", std::move(argument), range_});
  }
  call.type_argument = std::move(type);
  call.dtype_argument = dtype;
  call.range = range_;
  const Value made = CallOperation(elaboration_, call);
  const Tensor* tensor = made.As<Tensor>();
  return tensor ? *tensor : Tensor();
}

const graph::Type& OpMaker::type(Tensor a) const { return elaboration_.builder->type(a.value); }

Tensor OpMaker::Zeros(const graph::Type& type) {
  return Make(elaboration_.program.zeros_op, {}, type);
}

Tensor OpMaker::Ones(const graph::Type& type) {
  return Make(elaboration_.program.ones_op, {}, type);
}

Tensor OpMaker::Add(Tensor a, Tensor b) {
  return Make(elaboration_.program.operator_ops.at(BinaryOperator::kAdd), {Value(a), Value(b)});
}

Tensor OpMaker::Multiply(Tensor a, Tensor b) {
  return Make(elaboration_.program.operator_ops.at(BinaryOperator::kMultiply),
              {Value(a), Value(b)});
}

Tensor OpMaker::Sqrt(Tensor a) { return Make(elaboration_.program.sqrt_op, {Value(a)}); }

Tensor OpMaker::Scale(Tensor a, double factor) {
  return Make(elaboration_.program.operator_ops.at(BinaryOperator::kMultiply),
              {Value(a), Value(factor)});
}

Tensor OpMaker::Copy(Tensor a) { return Make(elaboration_.program.copy_op, {Value(a)}); }

Tensor OpMaker::Cast(Tensor a, DType dtype) {
  return Make(elaboration_.program.cast_op, {Value(a)}, std::nullopt, dtype);
}

Tensor OpMaker::SumTo(Tensor a, const graph::Type& type) {
  return Make(elaboration_.program.sum_to_op, {Value(a)}, type);
}

Tensor OpMaker::Shaped(Tensor a, const graph::Type& type) {
  return Make(elaboration_.program.shaped_op, {Value(a)}, type);
}

Tensor OpMaker::Update(Tensor into, Tensor part, const std::vector<int64_t>& at) {
  std::vector<Value> indices(at.begin(), at.end());
  return Make(elaboration_.program.update_op,
              {Value(into), Value(part), MakeList(elaboration_, range_, std::move(indices))});
}

Tensor OpMaker::Adapt(Tensor a, const graph::Type& wanted) {
  if (!a.value.valid()) return a;
  const TransportRequest via = a.via;
  if (type(a).dtype != wanted.dtype) a = Cast(a, wanted.dtype);
  if (a.value.valid() && type(a).dims != wanted.dims) a = SumTo(a, wanted);
  a.via = via;
  return a;
}

}  // namespace cgraph::elaborate
