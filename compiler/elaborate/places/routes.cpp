#include "compiler/elaborate/places/places.h"

#include <fmt/format.h>

#include "compiler/base/limits.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/report.h"
#include "compiler/graph/transports.h"

namespace cgraph::elaborate {

void EvaluateTransports(ElaborationContext& elaboration) {
  for (const program::NamedTransport& transport : elaboration.program.transports) {
    uint32_t& capacity = elaboration.capacities.emplace_back(0);
    for (const program::Argument& option : transport.options) {
      Frame frame(transport.name, nullptr, &transport.locals);
      std::optional<int64_t> value = EvaluateInt(elaboration, option.value, frame, "an option");
      if (!value) continue;
      if (*value >= 1 && *value <= kMaxCapacity) {
        capacity = static_cast<uint32_t>(*value);
        continue;
      }
      Report(elaboration, Code::kE0531, elaboration.program.exprs[option.value].range,
             fmt::format("the capacity of a transport is between 1 and {} messages, not {}",
                         kMaxCapacity, *value));
    }
  }
}

TransportRequest JourneyOf(const ElaborationContext& elaboration, const program::Route& route) {
  TransportRequest via{.transport = route.transport};
  if (route.declared.valid()) via.capacity = elaboration.capacities[route.declared.index];
  via.range = route.range;
  return via;
}

void CheckTransport(ElaborationContext& elaboration, const graph::Use& use, graph::DeviceId to) {
  const graph::Value& value = elaboration.builder->value(use.value);
  if (!value.home.valid()) return;  // a constant is wherever it is used
  TransportChoice choice = ChooseTransport(elaboration.module, value.home, to, use.via.transport);
  if (choice.possible) return;
  const Range asked = use.via.range.valid() ? use.via.range : use.range;
  Diagnostic& diagnostic =
      Report(elaboration, Code::kE0601, asked,
             fmt::format("{} cannot carry this from {} to {}: {}; possible here: {}",
                         TransportName(use.via.transport).str(),
                         DeviceName(elaboration.module.devices[value.home]),
                         DeviceName(elaboration.module.devices[to]), choice.reason,
                         choice.could_serve));
  const bool here = asked.source == use.range.source && asked.begin >= use.range.begin &&
                    asked.end <= use.range.end;
  if (!here) {
    diagnostic.AddNote(use.range, fmt::format("it is read here, on {}",
                                              DeviceName(elaboration.module.devices[to])));
  }
}

}  // namespace cgraph::elaborate
