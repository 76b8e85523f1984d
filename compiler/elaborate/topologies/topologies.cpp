#include "compiler/elaborate/steps.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/base/limits.h"
#include "compiler/elaborate/budget.h"
#include "compiler/elaborate/calls/arguments.h"
#include "compiler/elaborate/elaborate.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/report.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace cgraph::elaborate {
namespace {

class TopologyMaker {
 public:
  TopologyMaker(ElaborationContext& elaboration, const program::Topology& topology)
      : elaboration_(elaboration),
        topology_(topology),
        frame_(topology.name, nullptr, &topology.locals),
        resources_(topology.parts.size()) {}

  std::optional<cost::Topology> Run(const std::vector<program::Argument>& arguments,
                                    const Table<program::LocalId, program::Local>* locals,
                                    Range site) {
    const size_t errors = elaboration_.diagnostics.errors();
    Frame outside(topology_.name, nullptr, locals);
    const std::vector<Actual> actuals =
        EvaluateArguments(elaboration_, arguments, &topology_.parameters, frame_, outside);
    if (!BindParameters(elaboration_, topology_.parameters, actuals, frame_, site))
      return std::nullopt;
    made_ = cost::AssumedTopology();
    made_.machine.emplace();
    made_.name = NameOf(actuals);
    made_.parameters = ParametersText();
    made_.range = topology_.range;
    for (TopologyParts kind : {kOfDevice, kOfResource, kOfLink}) {
      for (size_t i = 0; i < topology_.parts.size(); ++i) {
        if (topology_.parts[i].kind == kind && !elaboration_.budget.stopped) MakePart(i);
      }
    }
    if (elaboration_.diagnostics.errors() > errors || elaboration_.budget.stopped)
      return std::nullopt;
    return std::move(made_);
  }

 private:
  cost::Machine& machine() { return *made_.machine; }

  // Returns the name with arguments: "dgx1v", "pod(4, 2)".
  std::string NameOf(const std::vector<Actual>& actuals) const {
    std::vector<std::string> values;
    for (const Actual& actual : actuals) values.push_back(ScalarText(actual.value));
    return topology_.name + (values.empty() ? "" : fmt::format("({})", fmt::join(values, ", ")));
  }

  // Returns "cores: int = 2".
  std::string ParametersText() const {
    const Sources& sources = elaboration_.diagnostics.sources();
    std::vector<std::string> texts;
    for (const program::Parameter& parameter : topology_.parameters) {
      texts.push_back(fmt::format(
          "{}: {}", parameter.name,
          sources.Text(elaboration_.program.types[parameter.type].range)));
      if (!parameter.default_value.valid()) continue;
      const Range range = elaboration_.program.exprs[parameter.default_value].range;
      texts.back() += fmt::format(" = {}", sources.Text(range));
    }
    return fmt::format("{}", fmt::join(texts, ", "));
  }

  void MakePart(size_t position) {
    const program::TopologyPart& part = topology_.parts[position];
    std::vector<IntRange> ranges;
    int64_t count = 1;
    for (const program::IndexRange& index : part.indices) {
      const Range range = elaboration_.program.exprs[index.range].range;
      const Value value = Evaluate(elaboration_, index.range, frame_);
      IntRange bounds;
      if (const IntRange* given = value.As<IntRange>()) {
        bounds = {given->begin, std::max(given->begin, given->end)};
      } else if (!value.poisoned()) {
        Report(
            elaboration_, Code::kE0406, range,
            fmt::format("an index goes over a range a..b, not {}", Describe(elaboration_, value)));
      }
      int64_t length = 0;
      const bool too_many = __builtin_sub_overflow(bounds.end, bounds.begin, &length) ||
                            __builtin_mul_overflow(count, length, &count);
      if (too_many || !CheckListLength(elaboration_, count, range) ||
          !Step(elaboration_, range, count))
        return;
      ranges.push_back(bounds);
    }
    resources_[position] = {ranges, machine().resources.size()};
    std::vector<int64_t> at;
    for (const IntRange& bounds : ranges) at.push_back(bounds.begin);
    for (int64_t i = 0; i < count && !elaboration_.budget.stopped; ++i) {
      MakeOne(part, at);
      for (size_t k = at.size(); k-- > 0;) {  // the last index runs fastest
        if (++at[k] < ranges[k].end) break;
        at[k] = ranges[k].begin;
      }
    }
  }

  void MakeOne(const program::TopologyPart& part, const std::vector<int64_t>& at) {
    for (size_t i = 0; i < at.size(); ++i) {
      frame_.locals[part.indices[i].local.index] = Value(at[i]);
      elaboration_.backtrace.loops.push_back(
          {&part.indices[i].name, &frame_, part.indices[i].local});
    }
    switch (part.kind) {
      case kOfDevice: MakeDevice(part); break;
      case kOfResource: MakeResource(part, at); break;
      case kOfLink: MakeLink(part); break;
    }
    elaboration_.backtrace.loops.resize(elaboration_.backtrace.loops.size() - at.size());
  }

  bool Fits(size_t count, int64_t most, const char* what, Range range) {
    if (static_cast<int64_t>(count) < most) return true;
    elaboration_.budget.stopped = true;
    Report(elaboration_, Code::kE0521, range,
           fmt::format("a topology has at most {} {}", most, what));
    return false;
  }

  std::optional<LogicalDevice> KeyOf(program::ExprId id) {
    const program::Expr& expr = elaboration_.program.exprs[id];
    const Value value = Evaluate(elaboration_, id, frame_);
    const graph::DeviceId* device = value.As<graph::DeviceId>();
    if (device == nullptr) {
      if (!value.poisoned()) {
        Report(elaboration_, Code::kE0603, expr.range,
               fmt::format("a device such as gpu[0], not {}", Describe(elaboration_, value)));
      }
      return std::nullopt;
    }
    return elaboration_.module.devices[*device];
  }

  // Returns whether a device has a rate of its own: then what is assumed of other dtypes is of
  // another device.
  static bool StatesRate(const program::TopologyPart& part) {
    return llvm::any_of(part.properties, [](const auto& property) {
      return property.property == TopologyProperty::kRateF32 ||
             property.property == TopologyProperty::kRateF16 ||
             property.property == TopologyProperty::kRateF64;
    });
  }

  void MakeDevice(const program::TopologyPart& part) {
    const std::optional<LogicalDevice> key = KeyOf(part.device);
    if (!key || !Fits(machine().devices.size(), kMaxDevices, "devices", part.range)) return;
    const bool is_gpu = key->kind == DeviceKind::kGpu;
    cost::MachineDevice device{.key = *key, .rates = is_gpu ? made_.gpu : made_.cpu};
    if (StatesRate(part)) device.rates.f16_flops_per_us = device.rates.f64_flops_per_us = 0;
    for (const program::TopologyPart::Property& property : part.properties) {
      if (property.property == TopologyProperty::kGeneration) {
        SetGeneration(property, device);
        continue;
      }
      const std::optional<uint64_t> value = Number(property);
      if (!value) continue;
      switch (property.property) {
        case TopologyProperty::kMemory: device.memory = static_cast<int64_t>(*value); break;
        case TopologyProperty::kRateF32: device.rates.flops_per_us = *value; break;
        case TopologyProperty::kRateF16: device.rates.f16_flops_per_us = *value; break;
        case TopologyProperty::kRateF64: device.rates.f64_flops_per_us = *value; break;
        case TopologyProperty::kLaunch: device.rates.overhead_ps = *value; break;
        default: device.rates.memory_bytes_per_us = *value;
      }
    }
    const auto [first, is_new] = devices_at_.emplace(*key, part.range);
    if (!is_new) return ReportTwice(DeviceName(*key), first->second, part.range);
    machine().AddDevice(std::move(device));
  }

  void SetGeneration(const program::TopologyPart::Property& property, cost::MachineDevice& device) {
    const Value value = Evaluate(elaboration_, property.value, frame_);
    const std::string* name = value.As<std::string>();
    const auto known = name != nullptr ? cost::ParseGeneration(*name) : std::nullopt;
    if (known) {
      device.generation = *known;
    } else if (!value.poisoned()) {
      Report(elaboration_, Code::kE0543, property.range,
             fmt::format("a generation is {}", kGenerationNames));
    }
  }

  void MakeResource(const program::TopologyPart& part, const std::vector<int64_t>& at) {
    if (!Fits(machine().resources.size(), kMaxResources, "resources", part.range)) return;
    cost::Resource resource;
    resource.name =
        part.name + (at.empty() ? "" : fmt::format("[{}]", fmt::join(at, ", ")));
    if (!Step(elaboration_, part.range, StepsOfBytes(resource.name.size()))) return;
    for (const program::TopologyPart::Property& property : part.properties) {
      const std::optional<uint64_t> value = Number(property);
      if (!value) continue;
      if (property.property == TopologyProperty::kCapacity) {
        resource.capacity = static_cast<uint32_t>(*value);
      } else {
        resource.bytes_per_us = *value;
      }
    }
    machine().resources.push_back(std::move(resource));
  }

  void MakeLink(const program::TopologyPart& part) {
    if (part.condition.valid()) {
      const std::optional<bool> holds = EvaluateCondition(elaboration_, part.condition, frame_);
      if (!holds || !*holds) return;
    }
    const std::optional<LogicalDevice> from = KeyOf(part.device), to = KeyOf(part.to);
    if (!from || !to || !Fits(machine().links(), kMaxLinks, "links", part.range)) return;
    if (*from == *to) {
      Report(elaboration_, Code::kE0542, part.range,
             fmt::format("a link leads from one device to another, and this from {} to itself; "
                         "`if i != j` leaves it out",
                         DeviceName(*from)));
      return;
    }
    const std::optional<uint32_t> begin = Station(*from, part.device);
    const std::optional<uint32_t> end = Station(*to, part.to);
    cost::Link link;
    for (const program::TopologyPart::Property& property : part.properties) {
      const std::optional<uint64_t> value = Number(property);
      if (!value) continue;
      (property.property == TopologyProperty::kLatency ? link.latency_ps : link.bytes_per_us) =
          *value;
    }
    for (const program::TopologyPart::Hop& hop : part.through) {
      if (const std::optional<uint32_t> resource = ResourceOf(hop)) {
        link.through.push_back(*resource);
      }
    }
    if (!begin || !end) return;
    const auto [first, is_new] = links_at_.emplace(std::pair(*begin, *end), part.range);
    if (is_new) {
      machine().AddLink(*begin, *end, std::move(link));
      return;
    }
    ReportTwice(fmt::format("the link {} -> {}", DeviceName(*from), DeviceName(*to)), first->second,
                part.range);
  }

  void ReportTwice(const std::string& what, Range first, Range second) {
    Diagnostic& report =
        Report(elaboration_, Code::kE0541, second, fmt::format("{} is stated twice", what));
    if (first != second) report.AddNote(first, "stated first here");
  }

  std::optional<uint32_t> Station(const LogicalDevice& key, program::ExprId at) {
    const std::optional<uint32_t> found = machine().Find(key);
    if (!found) {
      Report(elaboration_, Code::kE0542, elaboration_.program.exprs[at].range,
             fmt::format("the topology has no device {}", DeviceName(key)));
    }
    return found;
  }

  std::optional<uint32_t> ResourceOf(const program::TopologyPart::Hop& hop) {
    const auto& [ranges, first] = resources_[hop.resource];
    int64_t position = 0;
    for (size_t i = 0; i < hop.indices.size(); ++i) {
      const std::optional<int64_t> index =
          EvaluateInt(elaboration_, hop.indices[i], frame_, "an index");
      if (!index || ranges.size() != hop.indices.size()) return std::nullopt;
      if (*index < ranges[i].begin || *index >= ranges[i].end) {
        Report(elaboration_, Code::kE0542, hop.range,
               fmt::format("index {} of `{}` is in {}..{}, not {}", i,
                           topology_.parts[hop.resource].name, ranges[i].begin, ranges[i].end,
                           *index));
        return std::nullopt;
      }
      position = position * (ranges[i].end - ranges[i].begin) + (*index - ranges[i].begin);
    }
    return static_cast<uint32_t>(first + position);
  }

  // Returns the number in the cost model's unit, rounded to the nearest whole number.
  std::optional<uint64_t> Number(const program::TopologyPart::Property& property) {
    const PropertyTraits& traits = TraitsOf(property.property);
    const Value value = Evaluate(elaboration_, property.value, frame_);
    if (value.poisoned()) return std::nullopt;
    const int64_t* whole = value.As<int64_t>();
    const double* real = value.As<double>();
    const double number = whole != nullptr ? static_cast<double>(*whole)
                          : real != nullptr ? *real
                                            : -1;
    const PropertyRange bounds = RangeOf(traits.unit);
    if (number >= bounds.least && number <= bounds.most) {
      return static_cast<uint64_t>(std::nearbyint(number / bounds.scale));
    }
    Report(elaboration_, Code::kE0543, property.range,
           fmt::format("`{}` is {}", traits.name, bounds.words));
    return std::nullopt;
  }

  struct Array {
    std::vector<IntRange> ranges;
    size_t first = 0;  // of the machine's resources
  };

  ElaborationContext& elaboration_;
  const program::Topology& topology_;
  Frame frame_;
  std::vector<Array> resources_;  // by part
  std::map<LogicalDevice, Range> devices_at_;  // where each is stated
  std::map<std::pair<uint32_t, uint32_t>, Range> links_at_;
  cost::Topology made_;
};

}  // namespace

std::optional<cost::Topology> MakeTopology(ElaborationContext& elaboration,
                                           const program::Topology& topology,
                                           const std::vector<program::Argument>& arguments,
                                           const Table<program::LocalId, program::Local>* locals,
                                           Range site) {
  return TopologyMaker(elaboration, topology).Run(arguments, locals, site);
}

void CheckTopologies(const program::Program& program, const ElaborateOptions& options,
                     Diagnostics& diagnostics) {
  for (program::TopologyId id : program.topologies.Ids()) {
    const program::Topology& topology = program.topologies[id];
    const bool chosen = program.topology && program.topology->topology == id;
    const bool needs = llvm::any_of(topology.parameters, [](const program::Parameter& parameter) {
      return !parameter.default_value.valid();
    });
    if (topology.range.source != program.main || chosen || needs) continue;
    ElaborationContext elaboration(program, options,
                                   diagnostics);  // its devices are not the program's
    elaboration.consts.resize(program.consts.size());
    MakeTopology(elaboration, topology, {}, &topology.locals, topology.range);
  }
}

}  // namespace cgraph::elaborate
