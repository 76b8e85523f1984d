// Places: instances of actors on devices, and the state that each has.
#include "compiler/elaborate/elaborator.h"
#include "fmt/format.h"

namespace cgraph::elaboration {

graph::DeviceId Elaborator::Intern(const graph::Device& device) {
  auto [known, is_new] = devices_.try_emplace({device.kind, device.node, device.index});
  if (is_new) known->second = module_.devices.Add(device);
  return known->second;
}

std::optional<graph::DeviceId> Elaborator::DeviceOf(const Value& value, Range range) {
  if (const graph::DeviceId* device = value.As<graph::DeviceId>()) return *device;
  if (const graph::InstanceId* instance = value.As<graph::InstanceId>()) {
    return module_.instances[*instance].device;
  }
  if (!value.poisoned()) {
    Report(Code::kE0603, range,
           fmt::format("`on` takes a place or a device, not {}", Describe(value)));
  }
  return std::nullopt;
}

void Elaborator::CreatePlaces() {
  for (program::PlaceId id : program_.places.Ids()) CreatePlace(id);
}

void Elaborator::CreatePlace(program::PlaceId id) {
  const program::Place& place = program_.places[id];
  Frame frame(place.name, nullptr, &place.locals);
  PlaceTable& table = places_[id];
  int64_t count = 1;
  for (const program::Place::Index& index : place.indices) {
    Range range = program_.exprs[index.range].range;
    Value value = Evaluate(index.range, frame);
    IntRange bounds;
    if (const IntRange* given = value.As<IntRange>()) {
      bounds = {given->begin, std::max(given->begin, given->end)};
    } else if (!value.poisoned()) {
      Report(Code::kE0406, range,
             fmt::format("a place's index goes over a range a..b, not {}", Describe(value)));
    }
    table.indices.push_back(bounds);
    int64_t length = 0;
    bool too_many = __builtin_sub_overflow(bounds.end, bounds.begin, &length) ||
                    __builtin_mul_overflow(count, length, &count);
    if (too_many || !CheckListLength(count, range) || !Step(range, count)) return;
  }
  std::vector<int64_t> indices;
  for (const IntRange& bounds : table.indices) indices.push_back(bounds.begin);
  for (int64_t i = 0; i < count && !stopped_; ++i) {
    CreateInstance(id, indices);
    for (size_t k = indices.size(); k-- > 0;) {  // the last index runs fastest
      if (++indices[k] < table.indices[k].end) break;
      indices[k] = table.indices[k].begin;
    }
  }
}

void Elaborator::CreateInstance(program::PlaceId id, const std::vector<int64_t>& indices) {
  const program::Place& place = program_.places[id];
  const program::Actor& actor = program_.actors[place.actor];
  Frame frame(place.name, nullptr, &place.locals);
  graph::Instance instance;
  instance.name = place.name;
  for (size_t i = 0; i < indices.size(); ++i) {
    frame.locals[place.indices[i].local.index] = Value(indices[i]);
    instance.name += fmt::format("{}{}", i == 0 ? "[" : ", ", indices[i]);
    loops_.push_back({&place.indices[i].name, &frame, place.indices[i].local});
  }
  if (!indices.empty()) instance.name += "]";
  instance.actor = actor.name;
  instance.range = place.range;

  Frame parameters(instance.name, nullptr, &actor.locals);
  std::vector<Actual> actuals =
      EvaluateArguments(place.arguments, &actor.parameters, parameters, frame);
  bool bound = BindParameters(actor.parameters, actuals, parameters, place.range);
  std::optional<graph::DeviceId> device =
      DeviceOf(Evaluate(place.device, frame), program_.exprs[place.device].range);
  instance.device = device.value_or(kCaller);

  graph::InstanceId instance_id = module_.instances.Add(std::move(instance));
  places_[id].instances.push_back(instance_id);
  parameters.instance = instance_id;
  std::vector<Value> layout;
  inlined_.push_back({&parameters, place.range});
  for (program::StateId state_id : actor.states) {
    const program::State& state = program_.states[state_id];
    layout.push_back(bound ? StateLayout(state.type, state.name, parameters, instance_id)
                           : Value());
  }
  inlined_.pop_back();
  instances_.push_back({place.actor, std::move(parameters), std::move(layout)});
  loops_.resize(loops_.size() - indices.size());
}

// One state per tensor of the declared type: "w", "xs[3]", "pair.x".
Value Elaborator::StateLayout(program::TypeId type_id, const std::string& name, Frame& frame,
                              graph::InstanceId instance) {
  const program::Type& type = program_.types[type_id];
  if (!Step(type.range)) return Value();
  if (auto* list = std::get_if<program::ListType>(&type.node)) {
    std::optional<int64_t> length = EvaluateDimInt(list->length, frame, "a list's length");
    if (!length || !CheckListLength(*length, type.range)) return Value();
    std::vector<Value> items;
    for (int64_t i = 0; i < *length && !stopped_; ++i) {
      items.push_back(
          StateLayout(list->element, fmt::format("{}[{}]", name, i), frame, instance));
    }
    return MakeList(std::move(items));
  }
  if (auto* tuple = std::get_if<program::TupleType>(&type.node)) {
    std::vector<std::string> names;
    std::vector<Value> items;
    for (size_t i = 0; i < tuple->fields.size(); ++i) {
      const std::string& field = tuple->fields[i].name;
      std::string item = field.empty() ? fmt::format("{}[{}]", name, i) : name + "." + field;
      items.push_back(StateLayout(tuple->fields[i].type, item, frame, instance));
      names.push_back(field);
    }
    return MakeTuple(std::move(names), std::move(items));
  }
  auto* tensor = std::get_if<program::TensorType>(&type.node);
  if (!tensor) {
    Report(Code::kE0528, type.range,
           fmt::format("state `{}` holds tensors, and {} is known only while compiling; a scalar is "
                       "i64, f32 or bool",
                       name, Declared(type_id, frame)));
    return Value();
  }
  std::optional<graph::Type> concrete = ConcreteType(*tensor, frame, type.range);
  if (!concrete) return Value();
  graph::StateId id = module_.states.Add({instance, name, std::move(*concrete)});
  module_.instances[instance].states.push_back(id);
  return Value(StateLeaf{id});
}

// `s[d, t]` is a place, `s[d, :]` and `s[d]` lists of the rest.
Value Elaborator::IndexPlaces(program::PlaceId id, const std::vector<Value>& subscripts,
                              Range range) {
  const PlaceTable& table = places_[id];
  if (subscripts.size() > table.indices.size()) {
    Report(Code::kE0511, range,
           fmt::format("`{}` has {} indices", program_.places[id].name, table.indices.size()));
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
      Report(Code::kE0511, range,
             fmt::format("index {} of `{}` is in {}..{}, not {}", level, program_.places[id].name,
                         bounds.begin, bounds.end,
                         at ? std::to_string(*at) : fmt::format("{}..{}", part.begin, part.end)));
      return Value();
    }
    size_t stride = bounds.end - bounds.begin;
    auto next = [&](int64_t i) {
      return self(self, level + 1, position * stride + (i - bounds.begin));
    };
    if (at) return next(*at);
    std::vector<Value> items;
    for (int64_t i = part.begin; i < part.end && Step(range); ++i) items.push_back(next(i));
    return MakeList(std::move(items));
  };
  return collect(collect, 0, 0);
}

}  // namespace cgraph::elaboration
