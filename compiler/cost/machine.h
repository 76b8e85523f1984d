// Machine: a topology in integers: devices with their rates, links between ordered pairs of them,
// and resources that several links share.
//
// The time of a transfer is latency + bytes / bandwidth; the latency delays it, the bandwidth
// occupies the resources on its way. Where no link joins two devices, bytes are staged in a host's
// memory, one leg after the other. Cpus of one node without links between them share one memory;
// those of different nodes never do: from node to node only links lead, and bytes of a device that
// has none go by a host of its node that has one. Looking up a way takes time proportional to the
// number of a device's links and to that of the cpus.
#ifndef CGRAPH_COMPILER_COST_MACHINE_H_
#define CGRAPH_COMPILER_COST_MACHINE_H_

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/topology_property.h"
#include "runtime/base/kinds/dtype.h"
#include "runtime/base/kinds/logical_device.h"

namespace cgraph::cost {

struct DeviceRates {
  uint64_t overhead_ps;           // to start one kernel
  uint64_t flops_per_us;          // of f32, and of what has no rate of its own
  uint64_t memory_bytes_per_us;
  uint64_t f16_flops_per_us = 0;  // of bf16, too; 0: as f32
  uint64_t f64_flops_per_us = 0;  // 0: as f32

  uint64_t FlopsPerMicrosecond(DType dtype) const;
};

enum class Generation : uint8_t {  // of gpus
#define CGRAPH_GENERATION(id, name) id,
  CGRAPH_GENERATIONS(CGRAPH_GENERATION)
#undef CGRAPH_GENERATION
};
std::optional<Generation> ParseGeneration(const std::string& name);

struct MachineDevice {
  LogicalDevice key;
  DeviceRates rates;
  int64_t memory = 0;                    // bytes; 0: not stated
  Generation generation = Generation::kHopper;
};

struct Link {
  uint64_t latency_ps = 0;
  uint64_t bytes_per_us = 0;
  std::vector<uint32_t> through;         // resources
  uint32_t from = 0, to = 0;             // devices of the machine, which AddLink() sets
};

// Resource: at most `capacity` transfers are in it at once, each with up to its bandwidth.
struct Resource {
  std::string name;
  uint64_t bytes_per_us = 0;
  uint32_t capacity = 1;
};

// Route: how bytes go from one memory to another: by one link, or by several, staged in between.
// Without legs the two share one memory.
struct Route {
  std::vector<Link> legs;                // their bandwidth is what the narrowest part lets through
};

class Machine {
 public:
  std::vector<MachineDevice> devices;
  std::vector<Resource> resources;

  // Return false where there is such a device, or such a link, already.
  bool AddDevice(MachineDevice device);
  bool AddLink(uint32_t from, uint32_t to, Link link);
  size_t links() const { return links_.size(); }

  std::optional<uint32_t> Find(const LogicalDevice& key) const;
  bool Has(const LogicalDevice& key) const { return key.kind == DeviceKind::kCaller || Find(key); }
  const Link* Between(uint32_t from, uint32_t to) const;
  // Returns the links of a device to others, each as fast as the narrowest resource on its way lets
  // one transfer be.
  std::vector<Link> LinksFrom(uint32_t device) const;
  // Returns nothing where no way leads from one to the other.
  std::optional<Route> FindRoute(const LogicalDevice& from, const LogicalDevice& to) const;

 private:
  std::vector<uint32_t> CpusFrom(uint32_t device) const;
  std::vector<uint32_t> CpusTo(uint32_t device) const;
  uint32_t NodeOf(uint32_t device) const { return devices[device].key.node; }
  std::optional<Route> Staged(const std::vector<uint32_t>& stations) const;
  Link Narrowed(Link link) const;

  std::map<LogicalDevice, uint32_t> by_key_;
  std::vector<uint32_t> cpus_;
  std::map<std::pair<uint32_t, uint32_t>, Link> links_;
  // By two nodes: the links from a cpu of the one to a cpu of the other.
  std::map<std::pair<uint32_t, uint32_t>, std::vector<std::pair<uint32_t, uint32_t>>> bridges_;
};

}  // namespace cgraph::cost

#endif  // CGRAPH_COMPILER_COST_MACHINE_H_
