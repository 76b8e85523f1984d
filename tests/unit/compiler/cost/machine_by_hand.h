// MachineByHand: a machine whose devices and links a test states, and what a collective of all its
// devices takes.
#ifndef CGRAPH_TESTS_UNIT_COMPILER_COST_MACHINE_BY_HAND_H_
#define CGRAPH_TESTS_UNIT_COMPILER_COST_MACHINE_BY_HAND_H_

#include <catch2/catch.hpp>

#include <functional>
#include <optional>
#include <vector>

#include "compiler/cost/costs.h"

namespace cgraph::cost {

using Kind = CollectiveKind;
inline constexpr uint64_t kUs = 1'000'000;
inline constexpr uint64_t kBytes = 100 << 20;  // 104,857,600

class MachineByHand {
 public:
  MachineByHand() { topology_.machine.emplace(); }

  uint32_t Resource(uint64_t bytes_per_us, uint32_t capacity = 1) {
    machine().resources.push_back({"shared", bytes_per_us, capacity});
    return static_cast<uint32_t>(machine().resources.size()) - 1;
  }
  void Add(DeviceKind kind, uint32_t node, uint32_t index) {
    keys_.push_back({kind, node, index});
    machine().AddDevice({.key = keys_.back(), .rates = topology_.gpu});
  }
  // Adds a cpu of a node that takes part in no collective.
  void AddHost(uint32_t node) {
    hosts_.push_back({DeviceKind::kCpu, node, 0});
    machine().AddDevice({.key = hosts_.back(), .rates = topology_.cpu});
  }
  // Adds a link from each device to each other, where `of` gives one.
  void Link(const std::function<std::optional<cost::Link>(uint32_t, uint32_t)>& of) {
    const auto count = static_cast<uint32_t>(machine().devices.size());
    for (uint32_t i = 0; i < count; ++i) {
      for (uint32_t j = 0; j < count; ++j) {
        if (i == j) continue;
        if (const auto link = of(i, j)) CHECK(machine().AddLink(i, j, *link));
      }
    }
  }
  Movement Time(Kind kind, uint64_t bytes, uint32_t root = 0) const {
    const TransportKind by = IsGpus() ? TransportKind::kNccl : TransportKind::kShm;
    return Costs(topology_).Collective(kind, keys_, by, bytes, root);
  }
  uint64_t Message(const LogicalDevice& from, const LogicalDevice& to, uint64_t bytes) const {
    return Costs(topology_).Message(from, to, TransportKind::kShm, bytes).ps;
  }

 private:
  Machine& machine() { return *topology_.machine; }
  bool IsGpus() const { return keys_[0].kind == DeviceKind::kGpu; }

  Topology topology_ = AssumedTopology();
  std::vector<LogicalDevice> keys_, hosts_;
};

// `nodes` * `each` gpus: links of 150 GB/s within a node; between two nodes links of 25 GB/s, all
// those out of a node through the one way out of its NIC, resource 2 * node, and all those into it
// through the way in, the resource behind that. `named`: by their nodes; else numbered through.
inline MachineByHand Cluster(uint32_t nodes, uint32_t each, uint32_t extra = 0, bool named = true) {
  MachineByHand machine;
  for (uint32_t node = 0; node < nodes + (extra > 0); ++node) {
    for (uint32_t i = 0; i < (node < nodes ? each : extra); ++i) {
      machine.Add(DeviceKind::kGpu, named ? node : 0, named ? i : node * each + i);
    }
    machine.Resource(25'000);
    machine.Resource(25'000);
  }
  machine.Link([&](uint32_t i, uint32_t j) -> Link {
    if (i / each == j / each) return {kUs, 150'000, {}};
    return {5 * kUs, 25'000, {i / each * 2, j / each * 2 + 1}};
  });
  return machine;
}

}  // namespace cgraph::cost

#endif  // CGRAPH_TESTS_UNIT_COMPILER_COST_MACHINE_BY_HAND_H_
