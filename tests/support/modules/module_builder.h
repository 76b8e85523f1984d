// Graph modules by hand, for tests of what comes after Elaborate.
//
//   ModuleBuilder module;
//   auto a = module.Actor("a", module.Device(DeviceKind::kGpu, 0), {"w"});
//   GraphMaker& g = module.Graph("main");
//   auto x = g.Input("x", Floats({4}));
//   g.Call(a, "twice");
//   auto y = g.Op("add", {x, x}, Floats({4}));
//   g.Output("y", y);
//   graph::Module m = module.Build();
//
// Build() adds a start graph that writes every state. Nothing is checked.
#ifndef CGRAPH_TESTS_SUPPORT_MODULES_MODULE_BUILDER_H_
#define CGRAPH_TESTS_SUPPORT_MODULES_MODULE_BUILDER_H_

#include <memory>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/schedule/options.h"
#include "compiler/schedule/schedule.h"

namespace cgraph::graph::testing {

Type Floats(std::vector<Dim> dims);
Type Number();  // an i64 scalar
inline Dim D(int64_t extent) { return {.extent = extent}; }

class ModuleBuilder;

class GraphMaker {
 public:
  // Makes a symbol whose extent an input makes.
  Dim TakenSymbol(const std::string& name, int64_t bound);
  // Makes a symbol whose extent is a value of the graph.
  Dim Symbol(const std::string& name, int64_t bound, ValueId extent);
  ValueId Input(const std::string& name, Type type);
  ValueId Constant(Type type);
  ValueId View(ValueId base, int64_t offset, Type type);
  ValueId Read(StateId state);  // its present version

  // Sets the method call that ops appended from here on belong to; or ops of their own on a device.
  CallId Call(InstanceId instance, const std::string& method);
  void Alone(DeviceId device) { instance_ = {}, device_ = device; }
  ValueId Op(const std::string& kernel, std::vector<Use> operands, Type type);
  ValueId Op(const std::string& kernel, std::vector<ValueId> operands, Type type);
  void Write(StateId state, ValueId value);  // commits
  // Adds a collective with these operands (by rank, then tensor); its results' types likewise.
  std::vector<ValueId> Collective(graph::Collective collective, std::vector<Use> operands,
                                  const std::vector<Type>& types);
  graph::Op& last_op() { return graph_.ops[OpId(graph_.ops.size() - 1)]; }

  void Output(const std::string& name, ValueId value, TransportKind via = TransportKind::kAuto);
  graph::Graph& graph() { return graph_; }
  DeviceId device() const { return device_; }

 private:
  friend class ModuleBuilder;
  explicit GraphMaker(ModuleBuilder& module) : module_(module) {}
  ValueId AddOp(const std::string& kernel, std::vector<Use> operands, Value result);

  ModuleBuilder& module_;
  graph::Graph graph_;
  InstanceId instance_;
  CallId call_;
  DeviceId device_;
  std::vector<ValueId> versions_;  // by state: the present one
};

class ModuleBuilder {
 public:
  ModuleBuilder();
  DeviceId Device(DeviceKind kind, uint32_t index, uint32_t node = 0);
  // Adds an actor; its states are f32[4].
  InstanceId Actor(const std::string& name, DeviceId device, std::vector<std::string> states = {});
  StateId StateOf(InstanceId instance, size_t i) { return module_.instances[instance].states[i]; }
  GraphMaker& Graph(const std::string& name, int64_t inflight = 1);
  Module& module() { return module_; }
  Module Build();

 private:
  Module module_;
  std::vector<std::unique_ptr<GraphMaker>> graphs_;
};

// Returns the schedules of a module whose rules can be kept.
std::vector<schedule::Schedule> SchedulesOf(const Module& module,
                                            const ScheduleOptions& options = {});

}  // namespace cgraph::graph::testing

#endif  // CGRAPH_TESTS_SUPPORT_MODULES_MODULE_BUILDER_H_
