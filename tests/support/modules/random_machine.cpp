#include "tests/support/modules/random_machine.h"

#include <random>

#include "compiler/graph/names.h"
namespace cgraph::graph::testing {

cost::Topology RandomMachine(const Module& module, uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  cost::Topology topology = cost::AssumedTopology();
  topology.name = "random";
  cost::Machine& machine = topology.machine.emplace();
  machine.AddDevice({.key = {DeviceKind::kCpu, 0, 99}, .rates = topology.cpu});  // the host
  for (const LogicalDevice& device : module.devices) {
    if (device.kind == DeviceKind::kCaller) continue;
    machine.AddDevice(
        {.key = device, .rates = device.kind == DeviceKind::kGpu ? topology.gpu : topology.cpu});
  }
  const uint32_t resources = below(4);
  for (uint32_t i = 0; i < resources; ++i) {
    machine.resources.push_back({"r", 100u << below(12), 1 + below(2)});
  }
  const auto link = [&] {
    cost::Link made{below(3) * 1'000'000u, 100u << below(12), {}};
    for (uint32_t i = 0; i < resources; ++i) {
      if (below(3) == 0) made.through.push_back(i);
    }
    return made;
  };
  for (uint32_t from = 0; from < machine.devices.size(); ++from) {
    for (uint32_t to = 0; to < machine.devices.size(); ++to) {
      if (from != to && (from == 0 || to == 0 || below(2) == 0)) machine.AddLink(from, to, link());
    }
  }
  return topology;
}

}  // namespace cgraph::graph::testing
