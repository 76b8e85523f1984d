// Names: locals, consts, places, dimensions, devices.
#include <fmt/format.h>

#include "compiler/base/limits.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/expressions/eval.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/places/places.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/steps.h"

namespace cgraph::elaborate {

Value Eval(ElaborationContext&, const program::LocalRef& e, const Context& context) {
  const std::optional<Value>& value = context.frame.locals[e.local.index];
  if (!value) return Value();  // its binding failed, or stands in a branch that was not taken
  return *value;
}

Value Eval(ElaborationContext& elaboration, const program::ConstRef& e, const Context&) {
  return ConstValue(elaboration, e.constant);
}

Value Eval(ElaborationContext& elaboration, const program::PlaceRef& e, const Context&) {
  const PlaceTable& place = elaboration.places.tables[e.place];
  if (!place.indices.empty()) return Value(PlaceArray{e.place});
  return place.instances.empty() ? Value() : Value(place.instances[0]);
}

Value Eval(ElaborationContext& elaboration, const program::DimRef& e, const Context& context) {
  const std::optional<BoundDims>& bound = context.frame.dims[e.variable.index];
  const program::DimVariable& variable = context.frame.signature->dim_variables[e.variable];
  if (!bound || bound->dims.size() != 1 || variable.run) {
    Report(elaboration, Code::kE0509, context.range,
           fmt::format("dimension `{}` has no value here: nothing binds it", variable.name));
    return Value();
  }
  const graph::Dim& dim = bound->dims[0];
  if (!dim.symbol.valid() || elaboration.arithmetic == ArithmeticMode::kCost)
    return Value(dim.extent);
  if (elaboration.speculative) return Value();
  if (elaboration.arithmetic == ArithmeticMode::kNormal) {
    return Value(Tensor{elaboration.builder->graph().symbols[dim.symbol].extent});
  }
  Report(elaboration, Code::kE0508, context.range,
         fmt::format("`{}` is known only while running (at most {}): it can be a dimension as it "
                     "stands, but not be computed with; what is longer has a bound of its own, m "
                     "<= {}, or is a tensor that update() writes a part of",
                     variable.name, dim.extent, dim.extent + 1));
  return Value();
}

Value Eval(ElaborationContext& elaboration, const program::GenericRef&, const Context& context) {
  Report(elaboration, Code::kE0406, context.range, "a dtype is only meant inside width()");
  return Value();
}

Value Eval(ElaborationContext& elaboration, const program::DeviceRef& e, const Context& context) {
  std::optional<int64_t> index =
      EvaluateInt(elaboration, e.index, context.frame, "a device's index");
  std::optional<int64_t> node = e.node.valid()
                                    ? EvaluateInt(elaboration, e.node, context.frame, "a node")
                                    : std::optional<int64_t>(0);
  if (!index || !node) return Value();
  if (*node < 0 || *node >= kMaxNodes) {
    Report(elaboration, Code::kE0605, context.range,
           fmt::format("a node's number is between 0 and {}, not {}", kMaxNodes - 1, *node));
    return Value();
  }
  if (*index < 0 || *index >= kMaxDeviceIndex) {
    Report(
        elaboration, Code::kE0605, context.range,
        fmt::format("a device's index is between 0 and {}, not {}", kMaxDeviceIndex - 1, *index));
    return Value();
  }
  const Value device(InternDevice(
      elaboration, {e.kind, static_cast<uint32_t>(*node), static_cast<uint32_t>(*index)}));
  if (elaboration.module.devices.size() <= kMaxDevices) return device;
  if (!elaboration.budget.stopped) {
    Report(elaboration, Code::kE0605, context.range,
           fmt::format("a program has at most {} devices; this is one more", kMaxDevices - 1));
  }
  elaboration.budget.stopped = true;
  return Value();
}

}  // namespace cgraph::elaborate
