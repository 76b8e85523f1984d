#include "compiler/elaborate/steps.h"

#include <fmt/format.h>

#include "compiler/elaborate/budget.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/places/places.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/types/coerce.h"
#include "compiler/elaborate/types/dims.h"
#include "compiler/elaborate/values/make.h"

namespace cgraph::elaborate {

void BindInputSymbols(ElaborationContext& elaboration, program::TypeId type_id, Frame& frame) {
  const program::Type& type = elaboration.program.types[type_id];
  if (auto* list = std::get_if<program::ListType>(&type.node)) {
    BindInputSymbols(elaboration, list->element, frame);
  } else if (auto* tuple = std::get_if<program::TupleType>(&type.node)) {
    for (const program::TupleType::Field& field : tuple->fields) {
      BindInputSymbols(elaboration, field.type, frame);
    }
  }
  auto* tensor = std::get_if<program::TensorType>(&type.node);
  if (!tensor) return;
  for (const program::Dim& dim : tensor->dims) {
    if (dim.kind != program::Dim::kBounded || !dim.variable.valid()) continue;
    std::optional<int64_t> bound = EvaluateDimInt(elaboration, dim.expr, frame, "a bound");
    if (!bound) continue;
    const std::string& name = frame.signature->dim_variables[dim.variable].name;
    std::optional<BoundDims>& variable = frame.dims[dim.variable.index];
    if (!variable) {
      graph::SymbolId symbol = elaboration.builder->AddInputSymbol(name, *bound, dim.range);
      variable = BoundDims{{graph::Dim{*bound, symbol}}, nullptr, dim.range};
    } else if (variable->dims[0].extent != *bound) {
      Report(elaboration, Code::kE0508, dim.range,
             fmt::format("`{}` has two bounds, {} and {}", name, variable->dims[0].extent, *bound))
          .AddNote(variable->range, "the other one");
    }
  }
}

namespace {

// The steps for a port: it takes about as much memory as this many elements of a list.
constexpr int64_t kStepsPerPort = 8;

}  // namespace

Value AddInput(ElaborationContext& elaboration, program::TypeId type_id, const std::string& name,
               Frame& frame, Range range) {
  const program::Type& type = elaboration.program.types[type_id];
  if (!Step(elaboration, type.range)) return Value();
  if (auto* tensor = std::get_if<program::TensorType>(&type.node)) {
    std::optional<graph::Type> concrete = ConcreteType(elaboration, *tensor, frame, type.range);
    if (!concrete) return Value();
    if (!Step(elaboration, type.range, kStepsPerPort + StepsOfBytes(name.size()))) return Value();
    graph::ValueId value = elaboration.builder->AddInput(name, std::move(*concrete), range);
    elaboration.builder->graph().inputs.push_back({name, {.value = value, .range = range}});
    return Value(Tensor{value});
  }
  std::optional<Value> parts = MakeParts(
      elaboration, type, name, frame, [&](program::TypeId part, const std::string& part_name) {
        return AddInput(elaboration, part, part_name, frame, range);
      });
  if (parts) return *std::move(parts);
  Report(elaboration, Code::kE0526, range,
         fmt::format("input `{}` is known only while compiling: give it a default, make it a "
                     "const, or call this graph from another",
                     name));
  return Value();
}

void AddOutputs(ElaborationContext& elaboration, const Value& value, const std::string& name,
                Range range) {
  if (!Step(elaboration, range, kStepsPerPort + StepsOfBytes(name.size()))) return;
  std::string indexed = name.empty() ? "result" : name;
  if (const List* list = value.As<List>()) {
    for (size_t i = 0; i < list->items->size(); ++i) {
      AddOutputs(elaboration, (*list->items)[i], fmt::format("{}[{}]", indexed, i), range);
    }
  } else if (const Tuple* tuple = value.As<Tuple>()) {
    for (size_t i = 0; i < tuple->items->values.size(); ++i) {
      const std::vector<std::string>& names = tuple->items->names;
      std::string field = i < names.size() ? names[i] : "";
      std::string item = field.empty()  ? fmt::format("{}[{}]", indexed, i)
                         : name.empty() ? field
                                        : name + "." + field;
      AddOutputs(elaboration, tuple->items->values[i], item, range);
    }
  } else if (const Tensor* tensor = value.As<Tensor>()) {
    graph::Use use{tensor->value, tensor->via, range};
    CheckTransport(elaboration, use, kCaller);
    elaboration.builder->graph().outputs.push_back({indexed, use});
  } else if (!value.poisoned()) {
    Report(
        elaboration, Code::kE0406, range,
        fmt::format("output `{}` must be a tensor, not {}", indexed, Describe(elaboration, value)));
  }
}

}  // namespace cgraph::elaborate
