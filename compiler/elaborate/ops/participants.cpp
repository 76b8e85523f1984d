#include "compiler/elaborate/ops/participants.h"

#include <map>

#include <fmt/format.h>

#include "compiler/elaborate/budget.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/places/places.h"
#include "compiler/elaborate/report.h"
#include "llvm/ADT/STLExtras.h"

namespace cgraph::elaborate {
namespace {

using Traits = CollectiveTraits;

std::string Participant(const graph::Module& module, graph::DeviceId device, size_t rank) {
  return fmt::format("participant {} ({})", rank, DeviceName(module.devices[device]));
}

// Returns the tensors of one participant, in order.
bool TakeTensors(ElaborationContext& elaboration, const Value& value, Range range,
                 std::vector<Tensor>& tensors) {
  if (value.poisoned() || !Step(elaboration, range)) return false;
  if (const Tensor* tensor = value.As<Tensor>()) {
    tensors.push_back(*tensor);
    return true;
  }
  const List* list = value.As<List>();
  const Tuple* tuple = value.As<Tuple>();
  if (list || tuple) {
    return llvm::all_of(list ? *list->items : tuple->items->values, [&](const Value& item) {
      return TakeTensors(elaboration, item, range, tensors);
    });
  }
  Report(
      elaboration, Code::kE0406, range,
      fmt::format("what a participant gives is tensors; this is {}", Describe(elaboration, value)));
  return false;
}

std::optional<graph::DeviceId> HomeOf(ElaborationContext& elaboration,
                                      const std::vector<Tensor>& tensors, Range range) {
  if (tensors.empty()) {
    Report(elaboration, Code::kE0610, range, "a participant that gives no tensor");
    return std::nullopt;
  }
  const graph::DeviceId home = elaboration.builder->value(tensors[0].value).home;
  for (const Tensor& tensor : tensors) {
    const graph::DeviceId other = elaboration.builder->value(tensor.value).home;
    if (!other.valid()) {
      Report(elaboration, Code::kE0610, range,
             "a constant is at home everywhere, so this names no participant; write `on`");
      return std::nullopt;
    }
    if (other == home) continue;
    Report(elaboration, Code::kE0610, range,
           fmt::format("the tensors of one participant live on {} and {}; they must be together",
                       DeviceName(elaboration.module.devices[home]),
                       DeviceName(elaboration.module.devices[other])));
    return std::nullopt;
  }
  return home;
}

}  // namespace

bool FindGivers(ElaborationContext& elaboration, const program::CallCollective& e, Frame& frame,
                Participants& found) {
  const program::Expr& list = elaboration.program.exprs[e.values];
  Value values = Evaluate(elaboration, e.values, frame);
  std::optional<std::vector<Value>> items = ListItems(elaboration, values, list.range);
  if (!items) return false;
  const auto* written = std::get_if<program::List>(&list.node);
  for (size_t rank = 0; rank < items->size(); ++rank) {
    const bool named = written && written->items.size() == items->size();
    const Range range = named ? elaboration.program.exprs[written->items[rank]].range : list.range;
    std::vector<Tensor> tensors;
    if (!TakeTensors(elaboration, (*items)[rank], range, tensors)) return false;
    std::optional<graph::DeviceId> home = HomeOf(elaboration, tensors, range);
    if (!home) return false;
    found.devices.push_back(*home);
    found.tensors.push_back(std::move(tensors));
    found.ranges.push_back(range);
  }
  if (!items->empty()) {
    found.shape = (*items)[0];
    return true;
  }
  Report(
      elaboration, Code::kE0610, list.range,
      fmt::format("`{}` over an empty list: there must be a participant", TraitsOf(e.kind).name));
  return false;
}

bool FindPlaces(ElaborationContext& elaboration, const program::CallCollective& e, Frame& frame,
                Participants& found) {
  const Range range = elaboration.program.exprs[e.places].range;
  if (TraitsOf(e.kind).from == Traits::kRoot) {
    found.shape = Evaluate(elaboration, e.values, frame);
    found.tensors.emplace_back();
    const Range at = elaboration.program.exprs[e.values].range;
    if (!TakeTensors(elaboration, found.shape, at, found.tensors[0])) return false;
    if (found.tensors[0].empty()) {
      Report(elaboration, Code::kE0610, at,
             fmt::format("`{}` of no tensor", TraitsOf(e.kind).name));
      return false;
    }
  }
  std::optional<std::vector<Value>> places =
      ListItems(elaboration, Evaluate(elaboration, e.places, frame), range);
  if (!places) return false;
  for (const Value& place : *places) {
    if (place.poisoned()) return false;
    if (!place.As<graph::InstanceId>() && !place.As<graph::DeviceId>()) {
      Report(elaboration, Code::kE0406, range,
             fmt::format("`{}` takes a list of places; this has {} in it", TraitsOf(e.kind).name,
                         Describe(elaboration, place)));
      return false;
    }
    std::optional<graph::DeviceId> device = DeviceOf(elaboration, place, range);
    found.devices.push_back(*device);
    found.ranges.push_back(range);
  }
  if (!places->empty()) return true;
  Report(
      elaboration, Code::kE0610, range,
      fmt::format("`{}` over an empty list: there must be a participant", TraitsOf(e.kind).name));
  return false;
}

bool CheckParticipants(ElaborationContext& elaboration, const Participants& found,
                       const char* name) {
  std::map<graph::DeviceId, size_t> ranks;
  for (size_t rank = 0; rank < found.devices.size(); ++rank) {
    auto [first, is_new] = ranks.try_emplace(found.devices[rank], rank);
    if (is_new) continue;
    const bool caller = found.devices[rank] == kCaller;
    Report(
        elaboration, Code::kE0610, found.ranges[rank],
        fmt::format(
            "{} takes part in `{}` twice, as ranks {} and {}; a device takes part once: {}",
            DeviceName(elaboration.module.devices[found.devices[rank]]), name, first->second, rank,
            caller ? "what a graph takes lives at its caller; scatter() hands parts of it to "
                     "places, broadcast() all of it"
                   : "put the places on devices of their own"))
        .AddNote(found.ranges[first->second], "the first time here");
    return false;
  }
  for (size_t rank = 1; rank < found.tensors.size(); ++rank) {
    const std::vector<Tensor>&first = found.tensors[0], &mine = found.tensors[rank];
    const std::string who = Participant(elaboration.module, found.devices[rank], rank);
    const std::string other = Participant(elaboration.module, found.devices[0], 0);
    std::string differ;
    if (mine.size() != first.size()) {
      differ = fmt::format("{} gives {} {} and {} gives {}", who, mine.size(),
                           mine.size() == 1 ? "tensor" : "tensors", other, first.size());
    }
    for (size_t t = 0; differ.empty() && t < mine.size(); ++t) {
      const graph::Type& type = elaboration.builder->type(mine[t].value);
      const graph::Type& expected = elaboration.builder->type(first[t].value);
      if (type == expected) continue;
      differ = fmt::format("{} gives {} and {} gives {}", who, Text(elaboration, type), other,
                           Text(elaboration, expected));
    }
    if (differ.empty()) continue;
    Report(elaboration, Code::kE0611, found.ranges[rank],
           fmt::format("{}; in `{}` all give the same", differ, name))
        .AddNote(found.ranges[0], fmt::format("{} gives this", other));
    return false;
  }
  return true;
}

}  // namespace cgraph::elaborate
