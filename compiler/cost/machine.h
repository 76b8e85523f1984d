// Machine: what a topology states, in integers: devices with their rates, links between ordered
// pairs of them, and resources that several links share.
//
// The time of a transfer is latency + bytes / bandwidth; the latency delays it, the bandwidth
// occupies what it goes through. Where no link joins two devices, bytes are staged in a host's
// memory, one leg after the other. All cpus of a machine without links between them share one
// memory. Looking a way up takes time in the number of a device's links and in that of the cpus.
#ifndef CGRAPH_COMPILER_COST_MACHINE_H_
#define CGRAPH_COMPILER_COST_MACHINE_H_

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/dtype.h"
#include "compiler/base/topology_property.h"

namespace cgraph::cost {

struct DeviceRates {
  uint64_t overhead_ps;           // to start one kernel
  uint64_t flops_per_us;
  uint64_t memory_bytes_per_us;
};

// The caller's memory is that of the host, whichever cpu is next to it.
struct DeviceKey {
  enum Kind : uint8_t { kCaller, kCpu, kGpu };
  Kind kind = kCaller;
  uint32_t node = 0, index = 0;
  auto operator<=>(const DeviceKey&) const = default;
};
std::string NameOf(const DeviceKey& key);  // "caller", "cpu[0]", "node[1].gpu[0]"

enum class Generation : uint8_t {  // of gpus
#define CGRAPH_GENERATION(id, name) id,
  CGRAPH_GENERATIONS(CGRAPH_GENERATION)
#undef CGRAPH_GENERATION
};
std::optional<Generation> ParseGeneration(const std::string& name);

struct MachineDevice {
  DeviceKey key;
  DeviceRates rates;                     // of f32
  uint64_t f16_flops_per_us = 0;         // 0: as f32
  uint64_t f64_flops_per_us = 0;         // 0: as f32
  int64_t memory = 0;                    // bytes; 0: not stated
  Generation generation = Generation::kHopper;

  DeviceRates RatesOf(DType dtype) const;
};

struct Link {
  uint64_t latency_ps = 0;
  uint64_t bytes_per_us = 0;
  std::vector<uint32_t> through;         // resources
  uint32_t from = 0, to = 0;             // devices of the machine, which AddLink() sets
};

// At most `capacity` transfers are in it at once, each with up to its bandwidth.
struct Resource {
  std::string name;
  uint64_t bytes_per_us = 0;
  uint32_t capacity = 1;
};

// How bytes go from one memory to another: by one link, or by several, staged in between. Without
// legs: the two share one memory.
struct Route {
  std::vector<Link> legs;                // their bandwidth is what the narrowest part lets through
  std::vector<uint32_t> hosts;           // cpus in which bytes are staged, by index of the machine
};

class Machine {
 public:
  std::vector<MachineDevice> devices;
  std::vector<Resource> resources;

  // False where there is such a device, or such a link, already.
  bool AddDevice(MachineDevice device);
  bool AddLink(uint32_t from, uint32_t to, Link link);
  size_t links() const { return links_.size(); }

  std::optional<uint32_t> Find(const DeviceKey& key) const;
  bool Has(const DeviceKey& key) const { return key.kind == DeviceKey::kCaller || Find(key); }
  const Link* Between(uint32_t from, uint32_t to) const;
  // Of a device, to others, each as fast as the narrowest resource on its way lets one transfer be.
  std::vector<Link> LinksFrom(uint32_t device) const;
  // Nothing where no way leads from one to the other.
  std::optional<Route> FindRoute(const DeviceKey& from, const DeviceKey& to) const;

 private:
  std::vector<uint32_t> CpusFrom(uint32_t device) const;
  std::vector<uint32_t> CpusTo(uint32_t device) const;
  std::optional<Route> Staged(const std::vector<uint32_t>& stations) const;
  Link Narrowed(Link link) const;

  std::map<DeviceKey, uint32_t> by_key_;
  std::vector<uint32_t> cpus_;
  std::map<std::pair<uint32_t, uint32_t>, Link> links_;
};

}  // namespace cgraph::cost

#endif  // CGRAPH_COMPILER_COST_MACHINE_H_
