#include "compiler/elaborate/gradients/copies/value_numbers.h"

#include "compiler/base/kernels.h"
#include "llvm/ADT/STLExtras.h"

namespace cgraph::elaborate {

using graph::OpId;
using graph::ValueId;

namespace {

void Append(std::string& key, int64_t number) {
  key.append(reinterpret_cast<const char*>(&number), sizeof(number));
}
void Append(std::string& key, const std::string& text) {
  Append(key, static_cast<int64_t>(text.size()));
  key += text;
}
void Append(std::string& key, const graph::Type& type) {
  Append(key, static_cast<int64_t>(type.dtype));
  Append(key, static_cast<int64_t>(type.dims.size()));
  for (const graph::Dim& dim : type.dims) {
    Append(key, dim.symbol.valid() ? -1 - static_cast<int64_t>(dim.symbol.index) : dim.extent);
  }
}

// Appends what an op computes, but for its operands.
void Append(std::string& key, const graph::Op& op) {
  Append(key, op.kernel);
  if (op.collective) {
    Append(key, static_cast<int64_t>(op.collective->kind));
    Append(key, op.collective->reduction ? static_cast<int64_t>(*op.collective->reduction) : -1);
    Append(key, static_cast<int64_t>(op.collective->root));
    Append(key, static_cast<int64_t>(op.collective->participants.size()));
  }
  for (const graph::Attribute& attribute : op.attributes) {
    Append(key, attribute.name);
    Append(key, static_cast<int64_t>(attribute.value.index()));
    if (auto* text = std::get_if<std::string>(&attribute.value)) Append(key, *text);
    if (auto* number = std::get_if<int64_t>(&attribute.value)) Append(key, *number);
    if (auto* truth = std::get_if<bool>(&attribute.value)) Append(key, int64_t{*truth});
    if (auto* dtype = std::get_if<DType>(&attribute.value)) {
      Append(key, static_cast<int64_t>(*dtype));
    }
    if (auto* real = std::get_if<double>(&attribute.value)) {
      key.append(reinterpret_cast<const char*>(real), sizeof(*real));
    }
    if (auto* numbers = std::get_if<std::vector<int64_t>>(&attribute.value)) {
      Append(key, static_cast<int64_t>(numbers->size()));
      for (int64_t number : *numbers) Append(key, number);
    }
  }
}

}  // namespace

ValueNumbers::ValueNumbers(const graph::Graph& graph, const std::vector<std::string>* states)
    : graph_(graph), starts_(states == nullptr), numbers_(graph.values.size()) {
  for (ValueId id : graph.values.Ids()) {
    const graph::Value& value = graph.values[id];
    if (!value.producer.valid() && !value.base.valid()) NumberLeaf(id, states);
  }
  // A view comes after its base, and before what reads it.
  size_t next = 0;
  const auto number_views = [&](size_t end) {
    for (; next < end; ++next) {
      const graph::Value& value = graph.values[ValueId(next)];
      if (!value.base.valid()) continue;
      std::string key = "view";
      Append(key, numbers_[value.base.index]);
      Append(key, value.offset);
      Append(key, value.type);
      numbers_[next] = Intern(key);
    }
  };
  for (OpId id : graph.ops.Ids()) {
    const graph::Op& op = graph.ops[id];
    number_views(op.results.empty() ? next : op.results[0].index);
    NumberResults(id);
  }
  number_views(graph.values.size());
}

void ValueNumbers::NumberLeaf(ValueId id, const std::vector<std::string>* states) {
  const graph::Value& value = graph_.values[id];
  std::string key = "leaf";
  if (value.storage == graph::Value::kConstant) {
    Append(key, value.type);
    Append(key, value.constant);
  } else if (value.storage == graph::Value::kState && states != nullptr) {
    Append(key, value.type);
    Append(key, (*states)[value.state.index]);
  } else {
    Append(key, static_cast<int64_t>(id.index));
  }
  numbers_[id.index] = Intern(key);
}

void ValueNumbers::NumberResults(OpId id) {
  const graph::Op& op = graph_.ops[id];
  if (op.kernel == kCopyKernel) {
    numbers_[op.results[0].index] = numbers_[op.operands[0].value.index];
    return;
  }
  std::string key;
  if (op.effect && starts_) {
    key = "once";
    Append(key, static_cast<int64_t>(id.index));
  } else {
    Append(key, op);
    std::vector<uint32_t> operands;
    for (const graph::Use& use : op.operands) operands.push_back(numbers_[use.value.index]);
    const bool commutes = !op.collective && (op.kernel == "add" || op.kernel == "multiply");
    if (commutes) llvm::sort(operands);
    for (const uint32_t number : operands) Append(key, number);
  }
  const bool same = op.collective && (op.collective->kind == CollectiveKind::kAllReduce ||
                                      op.collective->kind == CollectiveKind::kAllGather);
  const bool copies = op.collective && op.collective->kind == CollectiveKind::kBroadcast;
  const size_t ranks = op.collective ? op.collective->participants.size() : 1;
  const size_t tensors = std::max<size_t>(op.results.size() / ranks, 1);
  for (size_t i = 0; i < op.results.size(); ++i) {
    if (copies) {
      numbers_[op.results[i].index] = numbers_[op.operands[i % tensors].value.index];
      continue;
    }
    std::string result = key;
    Append(result, static_cast<int64_t>(same ? i % tensors : i));
    Append(result, graph_.values[op.results[i]].type);
    numbers_[op.results[i].index] = Intern(result);
  }
}

uint32_t ValueNumbers::Intern(const std::string& key) {
  return interned_.try_emplace(key, static_cast<uint32_t>(interned_.size())).first->second;
}

std::vector<std::string> ValueNumbers::StateTexts(size_t states) const {
  std::vector<std::string> texts(states);
  for (ValueId id : graph_.values.Ids()) {
    const graph::Value& value = graph_.values[id];
    const bool holds =
        value.storage == graph::Value::kState && value.producer.valid() && !value.base.valid();
    if (holds) texts[value.state.index] = std::to_string(numbers_[id.index]);
  }
  return texts;
}

}  // namespace cgraph::elaborate
