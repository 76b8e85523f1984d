#include "tests/support/modules/module_builder.h"

#include "compiler/base/check.h"

namespace cgraph::graph::testing {

const DeviceId kCaller(0);

Type Floats(std::vector<Dim> dims) { return {.dtype = DType::kF32, .dims = std::move(dims)}; }
Type Number() { return {.dtype = DType::kI64}; }

Dim GraphMaker::TakenSymbol(const std::string& name, int64_t bound) {
  Value extent{.name = name, .type = Number(), .storage = Value::kInput, .home = kCaller};
  return Symbol(name, bound, graph_.values.Add(extent));
}

Dim GraphMaker::Symbol(const std::string& name, int64_t bound, ValueId extent) {
  return {.extent = bound, .symbol = graph_.symbols.Add({name, bound, extent})};
}

ValueId GraphMaker::Input(const std::string& name, Type type) {
  const ValueId value = graph_.values.Add(
      {.name = name, .type = std::move(type), .storage = Value::kInput, .home = kCaller});
  graph_.inputs.push_back({.name = name, .use = {.value = value}});
  return value;
}

ValueId GraphMaker::Constant(Type type) {
  Value value{.name = "constant", .type = std::move(type), .storage = Value::kConstant};
  value.constant.assign(value.type.bytes(), '\1');
  return graph_.values.Add(value);
}

ValueId GraphMaker::View(ValueId base, int64_t offset, Type type) {
  Value value = graph_.values[base];
  value.name += "[]";
  value.type = std::move(type);
  value.base = base;
  value.offset = offset;
  value.producer = OpId();
  value.constant.clear();
  return graph_.values.Add(value);
}

ValueId GraphMaker::Read(StateId state) {
  versions_.resize(module_.module().states.size());
  ValueId& version = versions_[state.index];
  if (!version.valid()) {
    const State& variable = module_.module().states[state];
    version = graph_.values.Add({.name = variable.name,
                                 .type = variable.type,
                                 .storage = Value::kState,
                                 .home = module_.module().instances[variable.instance].device,
                                 .state = state});
  }
  return version;
}

CallId GraphMaker::Call(InstanceId instance, const std::string& method) {
  instance_ = instance;
  device_ = module_.module().instances[instance].device;
  return call_ = graph_.calls.Add({.instance = instance, .method = method, .device = device_});
}

ValueId GraphMaker::AddOp(const std::string& kernel, std::vector<Use> operands, Value result) {
  if (!instance_.valid()) call_ = graph_.calls.Add({.method = kernel, .device = device_});
  result.home = device_;
  result.producer = OpId(graph_.ops.size());
  const ValueId value = graph_.values.Add(result);
  graph_.ops.Add({.name = kernel,
                  .kernel = kernel,
                  .operands = std::move(operands),
                  .results = {value},
                  .call = call_,
                  .device = device_,
                  .flops = 10,
                  .bytes = 100});
  return value;
}

ValueId GraphMaker::Op(const std::string& kernel, std::vector<Use> operands, Type type) {
  return AddOp(kernel, std::move(operands), {.name = kernel, .type = std::move(type)});
}

ValueId GraphMaker::Op(const std::string& kernel, std::vector<ValueId> operands, Type type) {
  std::vector<Use> uses;
  for (ValueId value : operands) uses.push_back({.value = value});
  return Op(kernel, std::move(uses), std::move(type));
}

void GraphMaker::Write(StateId state, ValueId value) {
  const State& variable = module_.module().states[state];
  const Value version{.name = variable.name,
                      .type = variable.type,
                      .storage = Value::kState,
                      .state = state};
  versions_.resize(module_.module().states.size());
  versions_[state.index] = AddOp("copy", {{.value = value}}, version);
}

std::vector<ValueId> GraphMaker::Collective(graph::Collective collective,
                                            std::vector<Use> operands,
                                            const std::vector<Type>& types) {
  const CollectiveTraits& traits = TraitsOf(collective.kind);
  const DeviceId root = collective.participants[collective.root];
  graph::Op op{.name = traits.name, .kernel = "collective", .operands = std::move(operands)};
  op.call = graph_.calls.Add({.method = traits.name, .device = root});
  op.device = root;
  op.effect = traits.from == CollectiveTraits::kNobody;
  const size_t members = collective.participants.size();
  for (size_t i = 0; i < types.size(); ++i) {
    const size_t rank = traits.to == CollectiveTraits::kRoot ? collective.root
                                                             : i / (types.size() / members);
    op.results.push_back(graph_.values.Add({.name = traits.name,
                                            .type = types[i],
                                            .home = collective.participants[rank],
                                            .producer = OpId(graph_.ops.size())}));
  }
  op.collective = std::move(collective);
  const std::vector<ValueId> results = op.results;
  graph_.ops.Add(std::move(op));
  return results;
}

void GraphMaker::Output(const std::string& name, ValueId value, TransportKind via) {
  graph_.outputs.push_back({.name = name, .use = {.value = value, .via = {.transport = via}}});
}

ModuleBuilder::ModuleBuilder() { module_.devices.Add({.kind = DeviceKind::kCaller}); }

DeviceId ModuleBuilder::Device(DeviceKind kind, uint32_t index, uint32_t node) {
  return module_.devices.Add({.kind = kind, .node = node, .index = index});
}

InstanceId ModuleBuilder::Actor(const std::string& name, DeviceId device,
                                std::vector<std::string> states) {
  const InstanceId id = module_.instances.Add({.name = name, .actor = "Actor", .device = device});
  for (const std::string& state : states) {
    module_.instances[id].states.push_back(
        module_.states.Add({.instance = id, .name = state, .type = Floats({D(4)})}));
  }
  return id;
}

GraphMaker& ModuleBuilder::Graph(const std::string& name, int64_t inflight) {
  graphs_.push_back(std::unique_ptr<GraphMaker>(new GraphMaker(*this)));
  graphs_.back()->graph_.name = name;
  graphs_.back()->graph_.inflight = inflight;
  return *graphs_.back();
}

Module ModuleBuilder::Build() {
  GraphMaker start(*this);
  start.graph_.name = "start";
  for (InstanceId instance : module_.instances.Ids()) {
    if (module_.instances[instance].states.empty()) continue;
    start.Call(instance, "start");
    for (StateId state : module_.instances[instance].states) {
      const bool load = state.index % 2 == 1;
      const ValueId value = start.Op(load ? "load" : "zeros", std::vector<ValueId>{},
                                     module_.states[state].type);
      if (load) {
        start.last_op().attributes = {{"file", std::string("f.safetensors")},
                                      {"tensor", module_.states[state].name}};
      }
      start.Write(state, value);
    }
  }
  Module module = module_;
  module.start = start.graph_;
  for (const auto& graph : graphs_) module.graphs.push_back(graph->graph_);
  return module;
}

std::vector<schedule::Schedule> SchedulesOf(const Module& module, const ScheduleOptions& options) {
  const Sources sources;
  Diagnostics diagnostics(sources);
  std::vector<schedule::Schedule> schedules = ScheduleModule(module, options, diagnostics);
  CGRAPH_CHECK(!diagnostics.has_errors(), "test", diagnostics.all()[0].message);
  return schedules;
}

}  // namespace cgraph::graph::testing
