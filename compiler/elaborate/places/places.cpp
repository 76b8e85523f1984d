#include "compiler/elaborate/places/places.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/elaborate/budget.h"
#include "compiler/elaborate/calls/arguments.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/types/coerce.h"
#include "compiler/elaborate/types/dims.h"
#include "compiler/elaborate/values/make.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/kinds/native.h"

namespace cgraph::elaborate {
namespace {

// The steps for states and places: they take about as much memory as this many elements of a list,
// and their names more.
constexpr int64_t kStepsPerState = 8;
constexpr int64_t kStepsPerPlace = 16;

}  // namespace

Value StateLayout(ElaborationContext& elaboration, program::TypeId type_id, const std::string& name,
                  Frame& frame, graph::InstanceId instance) {
  const program::Type& type = elaboration.program.types[type_id];
  if (!Step(elaboration, type.range)) return Value();
  std::optional<Value> parts = MakeParts(
      elaboration, type, name, frame, [&](program::TypeId part, const std::string& part_name) {
        return StateLayout(elaboration, part, part_name, frame, instance);
      });
  if (parts) return *std::move(parts);
  auto* tensor = std::get_if<program::TensorType>(&type.node);
  if (!tensor) {
    Report(
        elaboration, Code::kE0528, type.range,
        fmt::format("state `{}` holds tensors, and {} is known only while compiling; a scalar is "
                    "i64, f32 or bool",
                    name, Declared(elaboration, type_id, frame)));
    return Value();
  }
  std::optional<graph::Type> concrete = ConcreteType(elaboration, *tensor, frame, type.range);
  if (!concrete) return Value();
  if (!Step(elaboration, type.range, kStepsPerState + StepsOfBytes(name.size()))) return Value();
  graph::StateId id = elaboration.module.states.Add(
      {.instance = instance, .name = name, .type = std::move(*concrete), .written = false});
  elaboration.module.instances[instance].states.push_back(id);
  return Value(StateLeaf{id});
}

namespace {

void CreateInstance(ElaborationContext& elaboration, program::PlaceId id,
                    const std::vector<int64_t>& indices) {
  const program::Place& place = elaboration.program.places[id];
  const program::Actor& actor = elaboration.program.actors[place.actor];
  Frame frame(place.name, nullptr, &place.locals);
  graph::Instance instance;
  instance.name = place.name;
  for (size_t i = 0; i < indices.size(); ++i) {
    frame.locals[place.indices[i].local.index] = Value(indices[i]);
    instance.name += fmt::format("{}{}", i == 0 ? "[" : ", ", indices[i]);
    elaboration.backtrace.loops.push_back({&place.indices[i].name, &frame, place.indices[i].local});
  }
  if (!indices.empty()) instance.name += "]";
  size_t bytes = instance.name.size() + actor.name.size();
  for (const program::IndexRange& index : place.indices) bytes += index.name.size();
  const int64_t cost = kStepsPerPlace + actor.locals.size() + StepsOfBytes(bytes);
  if (!Step(elaboration, place.range, cost)) return;
  instance.actor = actor.name;
  instance.range = place.range;

  Frame parameters(instance.name, nullptr, &actor.locals);
  std::vector<Actual> actuals =
      EvaluateArguments(elaboration, place.arguments, &actor.parameters, parameters, frame);
  bool bound = BindParameters(elaboration, actor.parameters, actuals, parameters, place.range);
  std::optional<graph::DeviceId> device =
      DeviceOf(elaboration, Evaluate(elaboration, place.device, frame),
               elaboration.program.exprs[place.device].range);
  instance.device = device.value_or(kCaller);

  graph::InstanceId instance_id = elaboration.module.instances.Add(std::move(instance));
  elaboration.places.tables[id].instances.push_back(instance_id);
  parameters.instance = instance_id;
  std::vector<Value> layout;
  elaboration.backtrace.calls.push_back({&parameters, place.range});
  for (program::StateId state_id : actor.states) {
    const program::State& state = elaboration.program.states[state_id];
    layout.push_back(bound
                         ? StateLayout(elaboration, state.type, state.name, parameters, instance_id)
                         : Value());
  }
  elaboration.backtrace.calls.pop_back();
  for (size_t i = 0; i < layout.size(); ++i) {
    if (!elaboration.program.states[actor.states[i]].is_param) continue;
    MapLeaves(elaboration, place.range, layout[i], [&](const Value& leaf) {
      elaboration.places.params.insert(leaf.As<StateLeaf>()->state);
      return leaf;
    });
  }
  graph::StateId object;
  if (!actor.library.empty()) {
    const bool stated = llvm::any_of(actor.methods, [&](program::MethodId method) {
      const std::optional<program::Extern>& native = elaboration.program.methods[method].native;
      return native && native->effect != program::Effect::kUnstated;
    });
    object = elaboration.module.states.Add({instance_id, kNativeObjectState,
                                            {DType::kI64, {{stated ? kObjectSlots : 1, {}}}}});
    elaboration.module.instances[instance_id].states.push_back(object);
  }
  std::vector<std::pair<std::string, int64_t>> named;
  for (size_t i = 0; i < indices.size(); ++i) named.emplace_back(place.indices[i].name, indices[i]);
  elaboration.places.instances.push_back(
      {place.actor, id, std::move(parameters), std::move(named), std::move(layout), object});
  if (bound && place.trained) CreateTraining(elaboration, instance_id, frame);
  elaboration.backtrace.loops.resize(elaboration.backtrace.loops.size() - indices.size());
}

void CreatePlace(ElaborationContext& elaboration, program::PlaceId id) {
  const program::Place& place = elaboration.program.places[id];
  Frame frame(place.name, nullptr, &place.locals);
  PlaceTable& table = elaboration.places.tables[id];
  int64_t count = 1;
  for (const program::IndexRange& index : place.indices) {
    Range range = elaboration.program.exprs[index.range].range;
    Value value = Evaluate(elaboration, index.range, frame);
    IntRange bounds;
    if (const IntRange* given = value.As<IntRange>()) {
      bounds = {given->begin, std::max(given->begin, given->end)};
    } else if (!value.poisoned()) {
      Report(elaboration, Code::kE0406, range,
             fmt::format("a place's index goes over a range a..b, not {}",
                         Describe(elaboration, value)));
    }
    table.indices.push_back(bounds);
    int64_t length = 0;
    bool too_many = __builtin_sub_overflow(bounds.end, bounds.begin, &length) ||
                    __builtin_mul_overflow(count, length, &count);
    if (too_many || !CheckListLength(elaboration, count, range) || !Step(elaboration, range, count))
      return;
  }
  std::vector<int64_t> indices;
  for (const IntRange& bounds : table.indices) indices.push_back(bounds.begin);
  for (int64_t i = 0; i < count && !elaboration.budget.stopped; ++i) {
    CreateInstance(elaboration, id, indices);
    for (size_t k = indices.size(); k-- > 0;) {  // the last index runs fastest
      if (++indices[k] < table.indices[k].end) break;
      indices[k] = table.indices[k].begin;
    }
  }
}

}  // namespace

void CreatePlaces(ElaborationContext& elaboration) {
  for (program::PlaceId id : elaboration.program.places.Ids()) CreatePlace(elaboration, id);
}

namespace {

// Describes the range of an index: "`a` has 2 places, a[0] to a[1]", "index 1 of `a` goes from 0 to
// 3".
std::string OutsideText(const std::string& name, size_t indices, size_t level,
                        const IntRange& bounds) {
  const int64_t count = std::max<int64_t>(bounds.end - bounds.begin, 0);
  const int64_t last = bounds.end - 1;
  if (indices > 1) {
    return count == 1 ? fmt::format("index {} of `{}` is always {}", level, name, last)
                      : fmt::format("index {} of `{}` goes from {} to {}", level, name,
                                    bounds.begin, last);
  }
  if (count == 0) return fmt::format("`{}` has no places", name);
  if (count == 1) return fmt::format("`{0}` has 1 place, {0}[{1}]", name, last);
  return fmt::format("`{0}` has {1} places, {0}[{2}] to {0}[{3}]", name, count, bounds.begin, last);
}

}  // namespace

Value IndexPlaces(ElaborationContext& elaboration, program::PlaceId id,
                  const std::vector<Value>& subscripts, Range range) {
  const PlaceTable& table = elaboration.places.tables[id];
  if (subscripts.size() > table.indices.size()) {
    Report(elaboration, Code::kE0511, range,
           fmt::format("`{}` has {} indices", elaboration.program.places[id].name,
                       table.indices.size()));
    return Value();
  }
  auto collect = [&](auto& self, size_t level, size_t position) -> Value {
    if (level == table.indices.size()) {
      return position < table.instances.size() ? Value(table.instances[position]) : Value();
    }
    const IntRange& bounds = table.indices[level];
    IntRange part = bounds;
    const int64_t* at = nullptr;
    if (level < subscripts.size()) {
      at = subscripts[level].As<int64_t>();
      if (const IntRange* given = subscripts[level].As<IntRange>()) part = *given;
      if (at) part = {*at, *at == INT64_MAX ? *at : *at + 1};
    }
    if (part.begin < bounds.begin || part.begin > part.end || part.end > bounds.end ||
        (at && part.begin == part.end)) {
      const std::string given = at ? std::to_string(*at)
                                   : fmt::format("{}..{}", part.begin, part.end);
      Report(elaboration, Code::kE0511, range,
             OutsideText(elaboration.program.places[id].name, table.indices.size(), level, bounds) +
                 fmt::format(": there is no {}", given));
      return Value();
    }
    size_t stride = bounds.end - bounds.begin;
    auto next = [&](int64_t i) {
      return self(self, level + 1, position * stride + (i - bounds.begin));
    };
    if (at) return next(*at);
    std::vector<Value> items;
    for (int64_t i = part.begin; i < part.end && Step(elaboration, range); ++i)
      items.push_back(next(i));
    return MakeList(elaboration, range, std::move(items));
  };
  return collect(collect, 0, 0);
}

}  // namespace cgraph::elaborate
