#include "compiler/elaborate/values/make.h"

#include "compiler/elaborate/elaboration_context.h"
#include "llvm/ADT/STLExtras.h"

namespace cgraph::elaborate {

namespace {

// The memory of a list or a tuple besides its elements, in elements.
constexpr int64_t kListSteps = 2;
constexpr int64_t kTupleSteps = 4;

}  // namespace

Value MakeList(ElaborationContext& elaboration, Range range, std::vector<Value> items) {
  if (!Step(elaboration, range, items.size() + kListSteps)) return Value();
  return Value(List{std::make_shared<std::vector<Value>>(std::move(items))});
}

Value MakeTuple(ElaborationContext& elaboration, Range range, std::vector<std::string> names,
                std::vector<Value> values) {
  size_t bytes = 0;
  for (const std::string& name : names) bytes += name.size();
  if (!Step(elaboration, range, values.size() + kTupleSteps + StepsOfBytes(bytes))) return Value();
  if (bytes == 0) names.clear();
  return Value(
      Tuple{std::make_shared<TupleItems>(TupleItems{std::move(names), std::move(values)})});
}

Value MakeString(ElaborationContext& elaboration, Range range, std::string text) {
  return Step(elaboration, range, StepsOfBytes(text.size())) ? Value(std::move(text)) : Value();
}

bool IsNumeric(ElaborationContext& elaboration, Range range, const Value& value) {
  if (value.As<IntRange>()) return true;
  const List* list = value.As<List>();
  if (!list) return IsNumber(value);
  return !list->items->empty() && llvm::all_of(*list->items, [&](const Value& item) {
    return Step(elaboration, range) && IsNumeric(elaboration, range, item);
  });
}

Value WithVia(ElaborationContext& elaboration, Range range, const Value& value,
              const TransportRequest& via) {
  return MapLeaves(elaboration, range, value, [&](const Value& leaf) {
    Tensor tensor = *leaf.As<Tensor>();
    tensor.via = via;
    return Value(tensor);
  });
}

}  // namespace cgraph::elaborate
