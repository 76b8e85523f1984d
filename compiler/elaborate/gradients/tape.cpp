#include "compiler/elaborate/gradients/tape.h"

#include <set>

#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/ops/ops.h"
#include "compiler/elaborate/values/make.h"

namespace cgraph::elaborate {
namespace {

// The steps for a node, by its memory.
constexpr int64_t kStepsPerNode = 8;

std::vector<Value> ArgumentsOf(const Frame& frame) {
  std::vector<Value> arguments;
  for (const program::Parameter& parameter : frame.signature->parameters) {
    arguments.push_back(frame.locals[parameter.local.index].value_or(Value()));
  }
  return arguments;
}

void Record(ElaborationContext& elaboration, TapeNode node) {
  elaboration.budget.Charge(kStepsPerNode + node.arguments.size());
  elaboration.tape->nodes.push_back(std::move(node));
}

Value ListOf(std::vector<graph::ValueId> values) {
  std::vector<Value> items;
  for (graph::ValueId value : values) items.emplace_back(Tensor{value});
  return Value(List{std::make_shared<std::vector<Value>>(std::move(items))});
}

// Copies results that are an argument, a part of something, or there twice: their gradients would
// not be told from those of the other value.
Value Distinct(ElaborationContext& elaboration, const Value& result, size_t interior, Range range) {
  std::set<graph::ValueId> made;
  for (size_t i = interior; i < elaboration.tape->nodes.size(); ++i) {
    ForEachTensor(elaboration.tape->nodes[i].result,
                  [&](const Tensor& tensor) { made.insert(tensor.value); });
  }
  return MapLeaves(elaboration, range, result, [&](const Value& leaf) {
    if (made.erase(leaf.As<Tensor>()->value) != 0) return leaf;
    const program::OpId copy = elaboration.program.copy_op;
    return CallOperation(elaboration, {copy, {{"", leaf, range}}, {}, {}, {}, range});
  });
}

}  // namespace

void RecordOp(ElaborationContext& elaboration, program::OpId op, const Frame& frame,
              const Value& result, Range range) {
  if (elaboration.tape == nullptr) return;
  Record(elaboration, {op, ArgumentsOf(frame), result, TapeSize(elaboration), {}, range});
}

void RecordCopy(ElaborationContext& elaboration, const Tensor& from, graph::ValueId made,
                graph::StateId written, Range range) {
  if (elaboration.tape == nullptr) return;
  Record(elaboration, {TapeNode::Copy{written},
                       {Value(from)},
                       Value(Tensor{made}),
                       TapeSize(elaboration),
                       {},
                       range});
}

void RecordCollective(ElaborationContext& elaboration, graph::OpId id, Range range) {
  if (elaboration.tape == nullptr) return;
  const graph::Op& op = elaboration.builder->graph().ops[id];
  std::vector<Value> operands;
  for (const graph::Use& use : op.operands) operands.emplace_back(Tensor{use.value, use.via, {}});
  Record(elaboration, {TapeNode::Collective{id},
                       std::move(operands),
                       ListOf(op.results),
                       TapeSize(elaboration),
                       {},
                       range});
}

size_t TapeSize(const ElaborationContext& elaboration) {
  return elaboration.tape == nullptr ? 0 : elaboration.tape->nodes.size();
}

Value RecordFn(ElaborationContext& elaboration, program::FnId fn, const Frame& frame, Value result,
               size_t interior, Range range) {
  if (elaboration.tape == nullptr || !elaboration.program.fns[fn].gradient) return result;
  result = Distinct(elaboration, result, interior, range);
  Record(elaboration, {fn, ArgumentsOf(frame), result, interior, {}, range});
  return result;
}

Value RecordMethod(ElaborationContext& elaboration, program::MethodId method, const Frame& frame,
                   Value result, size_t interior, Range range) {
  if (elaboration.tape == nullptr) return result;
  const program::Method& row = elaboration.program.methods[method];
  if (row.gradient_by.empty() && !row.native) return result;
  if (!row.native) result = Distinct(elaboration, result, interior, range);
  Record(elaboration, {method, ArgumentsOf(frame), result, interior, frame.instance, range});
  return result;
}

void RecordBackward(ElaborationContext& elaboration, program::MethodId method,
                    std::vector<Value> arguments, const Value& result, graph::InstanceId instance,
                    Range range) {
  Record(elaboration,
         {method, std::move(arguments), result, TapeSize(elaboration), instance, range});
}

}  // namespace cgraph::elaborate
