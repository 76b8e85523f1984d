// Where ops run, and whether what they read can get there.
#include "compiler/base/limits.h"
#include "compiler/elaborate/elaborator.h"
#include "compiler/graph/transports.h"
#include "fmt/format.h"

namespace cgraph::elaboration {

// In a method: where its actor is. Else where `on` says; else the home of the first placed operand,
// the caller's own counting only when nothing else is placed.
graph::DeviceId Elaborator::DeviceOfOp(const std::vector<graph::Use>& operands) const {
  if (method_) return method_->call.device;
  if (on_) return *on_;
  for (const graph::Use& operand : operands) {
    graph::DeviceId home = builder_->value(operand.value).home;
    if (home.valid() && home != kCaller) return home;
  }
  return kCaller;
}

void Elaborator::EvaluateTransports() {
  for (const program::NamedTransport& transport : program_.transports) {
    uint32_t& capacity = capacities_.emplace_back(0);
    for (const program::Argument& option : transport.options) {
      Frame frame(transport.name, nullptr, &transport.locals);
      std::optional<int64_t> value = EvaluateInt(option.value, frame, "an option");
      if (!value) continue;
      if (*value >= 1 && *value <= kMaxCapacity) {
        capacity = static_cast<uint32_t>(*value);
        continue;
      }
      Report(Code::kE0531, program_.exprs[option.value].range,
             fmt::format("the capacity of a transport is between 1 and {} messages, not {}",
                         kMaxCapacity, *value));
    }
  }
}

Journey Elaborator::JourneyOf(const program::Route& route) const {
  Journey via(route.transport);
  if (route.declared.valid()) via.capacity = capacities_[route.declared.index];
  via.range = route.range;
  return via;
}

void Elaborator::CheckTransport(const graph::Use& use, graph::DeviceId to) {
  const graph::Value& value = builder_->value(use.value);
  if (!value.home.valid()) return;  // a constant is wherever it is used
  TransportChoice choice = ChooseTransport(module_, value.home, to, use.via);
  if (choice.possible) return;
  std::string could = choice.could_serve.empty()
                          ? "nothing else reaches it"
                          : fmt::format("possible here: auto, {}", choice.could_serve);
  const Range asked = use.via.range.valid() ? use.via.range : use.range;
  Diagnostic& diagnostic =
      Report(Code::kE0601, asked,
             fmt::format("{} cannot carry this from {} to {}: {}; {}",
                         TransportName(use.via).str(), DeviceName(module_.devices[value.home]),
                         DeviceName(module_.devices[to]), choice.reason, could));
  const bool here = asked.source == use.range.source && asked.begin >= use.range.begin &&
                    asked.end <= use.range.end;
  if (!here) {
    diagnostic.AddNote(use.range, fmt::format("it is read here, on {}",
                                              DeviceName(module_.devices[to])));
  }
}

graph::Call Elaborator::MakeCall(graph::InstanceId instance, std::string method,
                                 graph::DeviceId device, Range site) const {
  graph::Call call;
  call.instance = instance;
  call.method = std::move(method);
  call.device = device;
  call.site = site;
  call.after = after_;
  for (const Loop& loop : loops_) {
    const std::optional<Value>& value = loop.frame->locals[loop.local.index];
    const int64_t* index = value ? value->As<int64_t>() : nullptr;
    if (!index) continue;
    call.indices.push_back(*index);
    call.index_names.push_back(*loop.name);
  }
  return call;
}

}  // namespace cgraph::elaboration
