#include "compiler/cost/machine.h"

#include <algorithm>

#include "compiler/cost/formulas.h"

namespace cgraph::cost {
namespace {

// The most cpus in which bytes may be staged: of more, the first are looked at. No machine has a
// gpu next to more.
constexpr size_t kMostStations = 16;
// The size of a message by which ways are compared.
constexpr uint64_t kUsualBytes = 1 << 20;

uint64_t TimeOf(const Route& route) {
  uint64_t time = 0;
  for (const Link& leg : route.legs) {
    time += leg.latency_ps + MovePicoseconds(kUsualBytes, leg.bytes_per_us);
  }
  return time;
}

}  // namespace

std::optional<Generation> ParseGeneration(const std::string& name) {
#define CGRAPH_GENERATION(id, text) \
  if (name == text) return Generation::id;
  CGRAPH_GENERATIONS(CGRAPH_GENERATION)
#undef CGRAPH_GENERATION
  return std::nullopt;
}

uint64_t DeviceRates::FlopsPerMicrosecond(DType dtype) const {
  const bool half = dtype == DType::kF16 || dtype == DType::kBF16;
  if (half && f16_flops_per_us != 0) return f16_flops_per_us;
  if (dtype == DType::kF64 && f64_flops_per_us != 0) return f64_flops_per_us;
  return flops_per_us;
}

bool Machine::AddDevice(MachineDevice device) {
  const auto index = static_cast<uint32_t>(devices.size());
  if (!by_key_.emplace(device.key, index).second) return false;
  if (device.key.kind == DeviceKind::kCpu) cpus_.push_back(index);
  devices.push_back(std::move(device));
  return true;
}

bool Machine::AddLink(uint32_t from, uint32_t to, Link link) {
  link.from = from;
  link.to = to;
  if (!links_.emplace(std::pair(from, to), std::move(link)).second) return false;
  const bool hosts = devices[from].key.kind == DeviceKind::kCpu &&
                     devices[to].key.kind == DeviceKind::kCpu;
  if (hosts && NodeOf(from) != NodeOf(to)) {
    bridges_[{NodeOf(from), NodeOf(to)}].push_back({from, to});
  }
  return true;
}

std::optional<uint32_t> Machine::Find(const LogicalDevice& key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? std::nullopt : std::optional(found->second);
}

const Link* Machine::Between(uint32_t from, uint32_t to) const {
  const auto found = links_.find({from, to});
  return found == links_.end() ? nullptr : &found->second;
}

Link Machine::Narrowed(Link link) const {
  for (uint32_t resource : link.through) {
    link.bytes_per_us = std::min(link.bytes_per_us, resources[resource].bytes_per_us);
  }
  return link;
}

std::vector<uint32_t> Machine::CpusFrom(uint32_t device) const {
  std::vector<uint32_t> cpus;
  for (auto link = links_.lower_bound({device, 0});
       link != links_.end() && link->first.first == device && cpus.size() < kMostStations; ++link) {
    const uint32_t to = link->first.second;
    if (devices[to].key.kind == DeviceKind::kCpu) cpus.push_back(to);
  }
  return cpus;
}

std::vector<uint32_t> Machine::CpusTo(uint32_t device) const {
  std::vector<uint32_t> cpus;
  for (uint32_t cpu : cpus_) {
    if (cpus.size() < kMostStations && Between(cpu, device) != nullptr) cpus.push_back(cpu);
  }
  return cpus;
}

// Returns the way from station to station, one of which may be named twice in a row; two cpus of a
// node without a link between them share their memory.
std::optional<Route> Machine::Staged(const std::vector<uint32_t>& stations) const {
  Route route;
  for (size_t i = 0; i + 1 < stations.size(); ++i) {
    const uint32_t from = stations[i], to = stations[i + 1];
    const Link* link = Between(from, to);
    const bool share = devices[from].key.kind == DeviceKind::kCpu &&
                       devices[to].key.kind == DeviceKind::kCpu && NodeOf(from) == NodeOf(to);
    if (link == nullptr && !share) return std::nullopt;
    if (link != nullptr) route.legs.push_back(Narrowed(*link));
  }
  return route;
}

std::optional<Route> Machine::FindRoute(const LogicalDevice& from, const LogicalDevice& to) const {
  const std::optional<uint32_t> begin = Find(from), end = Find(to);
  const bool gpu_begins = from.kind == DeviceKind::kGpu, gpu_ends = to.kind == DeviceKind::kGpu;
  if ((gpu_begins && !begin) || (gpu_ends && !end)) return std::nullopt;
  if (from == to) return Route();
  if (begin && end && Between(*begin, *end) != nullptr) return Staged({*begin, *end});
  if (!gpu_begins && !gpu_ends && from.node == to.node) return Route();
  std::optional<Route> best;
  const auto consider = [&](const std::vector<uint32_t>& stations) {
    if (NodeOf(stations.front()) != from.node || NodeOf(stations.back()) != to.node) return;
    std::optional<Route> route = Staged(stations);
    if (route && (!best || TimeOf(*route) < TimeOf(*best))) best = std::move(route);
  };
  const std::vector<uint32_t> first = gpu_begins ? CpusFrom(*begin) : std::vector<uint32_t>();
  const std::vector<uint32_t> last = gpu_ends ? CpusTo(*end) : std::vector<uint32_t>();
  for (uint32_t out : first) {
    if (!gpu_ends) consider(end ? std::vector{*begin, out, *end} : std::vector{*begin, out});
    for (uint32_t in : last) {
      consider(out == in ? std::vector{*begin, out, *end} : std::vector{*begin, out, in, *end});
    }
  }
  for (uint32_t in : last) {
    if (!gpu_begins) consider(begin ? std::vector{*begin, in, *end} : std::vector{in, *end});
  }
  const auto bridges = bridges_.find({from.node, to.node});
  if (bridges == bridges_.end()) return best;
  const size_t count = std::min(bridges->second.size(), kMostStations);
  for (size_t i = 0; i < count; ++i) {
    const auto [out, in] = bridges->second[i];
    for (uint32_t leaves : gpu_begins ? first : std::vector{out}) {
      for (uint32_t enters : gpu_ends ? last : std::vector{in}) {
        consider({begin.value_or(out), leaves, out, in, enters, end.value_or(in)});
      }
    }
  }
  return best;
}

std::vector<Link> Machine::LinksFrom(uint32_t device) const {
  std::vector<Link> links;
  for (auto link = links_.lower_bound({device, 0});
       link != links_.end() && link->first.first == device; ++link) {
    links.push_back(Narrowed(link->second));
  }
  return links;
}

}  // namespace cgraph::cost
