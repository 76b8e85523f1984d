#include "runtime/python/binding/plan_handle.h"

#include <nanobind/stl/string.h>

#include "runtime/plan/check.h"
#include "runtime/plan/kinds.h"
#include "runtime/plan/load.h"
#include "runtime/plan/print.h"
#include "runtime/python/binding/errors.h"
#include "runtime/python/binding/without_gil.h"

namespace nb = nanobind;

namespace cgraph::python {
namespace {

nb::str Str(std::string_view text) { return nb::str(text.data(), text.size()); }

PlanHandle FromBytes(const nb::bytes& file) {
  std::string bytes(file.c_str(), file.size());
  Status checked;
  std::unique_ptr<plan::Plan> plan;
  {
    const WithoutGil unlocked;
    auto read = plan::FromBytes({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
    checked = read.ok() ? plan::CheckPlan(**read) : read.status();
    if (checked.ok()) plan = std::move(*read);
  }
  if (!checked.ok()) RaiseStatus(checked, During::kLoad);
  return {std::move(plan), std::move(bytes)};
}

// (name, dtype, shape, type): an extent that each execution has anew is the name of its symbol.
nb::tuple PortOf(const plan::Plan& plan, const plan::Graph& graph, const plan::Port& port) {
  const plan::Value& value = graph.values[port.value];
  nb::list shape;
  for (uint32_t d = 0; d < value.rank(); ++d) {
    const plan::Dim& dim = graph.dims[value.first_dim() + d];
    if (dim.symbol() == plan::kNone) {
      shape.append(dim.extent());
    } else {
      shape.append(Str(plan.names[graph.symbols[dim.symbol()].name()]));
    }
  }
  return nb::make_tuple(Str(port.name), Str(plan::DTypeName(value.dtype())), nb::tuple(shape),
                        Str(plan::TypeText(plan, graph, port.value)));
}

// The first `count` ports are the program's.
template <typename Ports>
nb::list PortsOf(const plan::Plan& plan, const plan::Graph& graph, const Ports& ports,
                 size_t count) {
  nb::list all;
  for (size_t i = 0; i < count; ++i) all.append(PortOf(plan, graph, *ports[i]));
  return all;
}

// (name, inputs, outputs, bounds of symbols, inflight, index in the plan, whether it repeats),
// without what stands before the rounds of another graph
nb::list GraphsOf(const PlanHandle& handle) {
  const plan::Plan& plan = handle.plan();
  nb::list all;
  for (uint32_t index = 0; index < plan.graphs.size(); ++index) {
    if (plan::IsBefore(plan, index)) continue;
    const auto& graph = plan.graphs[index];
    const plan::Repeat* const repeat = graph->repeat.get();
    const size_t inputs = repeat ? repeat->inputs : graph->inputs.size();
    const size_t outputs = repeat ? repeat->outputs : graph->outputs.size();
    nb::dict bounds;
    for (const plan::Symbol& symbol : graph->symbols) {
      bounds[Str(plan.names[symbol.name()])] = symbol.bound();
    }
    all.append(nb::make_tuple(Str(graph->name), PortsOf(plan, *graph, graph->inputs, inputs),
                              PortsOf(plan, *graph, graph->outputs, outputs), bounds,
                              graph->inflight, index, repeat != nullptr));
  }
  return all;
}

// (instructions, devices); the caller is none of the program's devices.
nb::tuple CountsOf(const PlanHandle& handle) {
  size_t instructions = 0, devices = 0;
  for (const auto& graph : handle.plan().graphs) instructions += graph->instructions.size();
  for (const auto& device : handle.plan().devices) {
    devices += device->kind != plan::DeviceKind::caller;
  }
  return nb::make_tuple(instructions, devices);
}

}  // namespace

void BindPlan(nb::module_& module) {
  nb::class_<PlanHandle>(module, "Plan", "A plan that was checked; cgraph.Plan is its user.")
      .def_static("from_bytes", &FromBytes, nb::arg("file"))
      .def("bytes",
           [](const PlanHandle& self) {
             return nb::bytes(self.Bytes().data(), self.Bytes().size());
           })
      .def("graphs", &GraphsOf)
      .def("counts", &CountsOf)
      .def("weights",
           [](const PlanHandle& self) {
             nb::list names;
             for (const auto& file : self.plan().weights) names.append(Str(file->name));
             return names;
           })
      .def("parameters",
           [](const PlanHandle& self) {
             nb::list parameters;
             for (const auto& each : self.plan().parameters) {
               parameters.append(nb::make_tuple(Str(each->name), Str(each->value)));
             }
             return parameters;
           })
      .def("text", [](const PlanHandle& self) { return TextOf(plan::ToText(self.plan())); });
}

}  // namespace cgraph::python
