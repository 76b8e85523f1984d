#include "compiler/inspect/draw/facts/facts.h"

#include <map>

namespace cgraph {

std::vector<uint32_t> FindOutputCopies(const plan::Plan& plan, const plan::Graph& graph) {
  std::map<uint32_t, uint32_t> port_of;  // by value
  for (uint32_t port = 0; port < graph.outputs.size(); ++port) {
    port_of.emplace(graph.outputs[port]->value, port);
  }
  const auto arena = [&](uint32_t value) -> const plan::Arena& {
    return graph.arenas[graph.buffers[graph.values[value].buffer()].arena()];
  };
  std::vector<uint32_t> filled(graph.instructions.size(), plan::kNone);
  for (uint32_t lane = 0; lane < graph.programs.size(); ++lane) {
    const plan::Range& program = graph.programs[lane];
    for (uint32_t i = program.first(); i < program.first() + program.count(); ++i) {
      const plan::Instruction& copy = graph.instructions[i];
      if (copy.kind() != plan::Kind::copy || copy.inputs() != 1 || copy.outputs() != 1) continue;
      const uint32_t source = arena(graph.operands[copy.first()]).device();
      const uint32_t target = graph.operands[copy.first() + 1];
      const auto port = port_of.find(target);
      if (port == port_of.end() || arena(target).space() != plan::Space::output) continue;
      const bool is_in_host_memory = plan.devices[source]->kind != plan::DeviceKind::gpu;
      if (is_in_host_memory && plan.lanes[lane].device() == source) filled[i] = port->second;
    }
  }
  return filled;
}

}  // namespace cgraph
