#include "compiler/cost/costs.h"

#include <algorithm>

#include "compiler/cost/formulas.h"
#include "compiler/cost/nccl.h"
#include "compiler/cost/units.h"

namespace cgraph::cost {
namespace {

bool IsGpu(const DeviceKey& key) { return key.kind == DeviceKey::kGpu; }

void AddResources(const Route& route, Movement& movement) {
  for (const Link& leg : route.legs) {
    movement.resources.insert(movement.resources.end(), leg.through.begin(), leg.through.end());
  }
  std::sort(movement.resources.begin(), movement.resources.end());
  movement.resources.erase(std::unique(movement.resources.begin(), movement.resources.end()),
                           movement.resources.end());
}

// Where only rates are known.
Movement Plain(uint64_t ps) { return {.ps = ps}; }

}  // namespace

const MachineDevice* Costs::DeviceOf(const DeviceKey& key) const {
  if (!topology_.machine) return nullptr;
  const std::optional<uint32_t> found = topology_.machine->Find(key);
  return found ? &topology_.machine->devices[*found] : nullptr;
}

const std::optional<Route>& Costs::RouteOf(const DeviceKey& from, const DeviceKey& to) const {
  const auto [known, is_new] = routes_.try_emplace({from, to});
  if (is_new) known->second = topology_.machine->FindRoute(from, to);
  return known->second;
}

bool Costs::Reaches(const DeviceKey& from, const DeviceKey& to) const {
  return !topology_.machine || RouteOf(from, to).has_value();
}

uint64_t Costs::Kernel(const DeviceKey& device, uint64_t flops, uint64_t bytes, DType dtype) const {
  if (const MachineDevice* stated = DeviceOf(device)) {
    return KernelPicoseconds(stated->RatesOf(dtype), flops, bytes);
  }
  return KernelPicoseconds(IsGpu(device) ? topology_.gpu : topology_.cpu, flops, bytes);
}

// The last byte arrives when all legs have passed; what is shared is held as long as bytes go in.
Movement Costs::Along(const Route& route, uint64_t bytes) const {
  Movement movement;
  uint64_t last_latency = 0;
  for (const Link& leg : route.legs) {
    last_latency = leg.latency_ps;
    movement.ps += leg.latency_ps + MovePicoseconds(bytes, leg.bytes_per_us);
  }
  AddResources(route, movement);
  if (!movement.resources.empty()) movement.held_ps = movement.ps - last_latency;
  return movement;
}

Movement Costs::Copy(const DeviceKey& lane, const DeviceKey& from, const DeviceKey& to,
                     uint64_t bytes) const {
  if (from == to && IsGpu(lane)) return Plain(Kernel(lane, 0, 2 * bytes, DType::kU8));
  if (topology_.machine) {
    const std::optional<Route>& route = RouteOf(from, to);
    if (route && !route->legs.empty()) return Along(*route, bytes);
    if (const MachineDevice* stated = DeviceOf(lane)) {
      return Plain(KernelPicoseconds(stated->rates, 0, 2 * bytes));
    }
  }
  return Plain(TransferPicoseconds(IsGpu(lane) ? topology_.host : topology_.local_copy, bytes));
}

Movement Costs::Message(const DeviceKey& from, const DeviceKey& to, bool by_nccl,
                        uint64_t bytes) const {
  if (topology_.machine) {
    const std::optional<Route>& route = RouteOf(from, to);
    if (route && !route->legs.empty()) return Along(*route, bytes);
  }
  return Plain(TransferPicoseconds(by_nccl ? topology_.nccl : topology_.shm, bytes));
}

LinkRates Costs::Rates(const DeviceKey& from, const DeviceKey& to, bool by_nccl) const {
  LinkRates rates = by_nccl ? topology_.nccl : topology_.shm;
  if (!topology_.machine) return rates;
  const std::optional<Route>& route = RouteOf(from, to);
  if (!route || route->legs.empty()) return rates;
  constexpr uint64_t kBytes = uint64_t{1} << 40;
  unsigned __int128 time = 0;
  rates.latency_ps = 0;
  for (const Link& leg : route->legs) {
    rates.latency_ps += leg.latency_ps;
    time += MovePicoseconds(kBytes, leg.bytes_per_us);
  }
  const unsigned __int128 per_us =
      static_cast<unsigned __int128>(kBytes) * kPicosecondsPerMicrosecond / time;
  rates.bytes_per_us = std::max<uint64_t>(static_cast<uint64_t>(per_us), 1);
  return rates;
}

// A ring in the order of the ranks says what is held, all links together how much it carries.
Movement Costs::NcclCollective(CollectiveKind kind, const std::vector<DeviceKey>& participants,
                               uint64_t bytes) const {
  const Machine& machine = *topology_.machine;
  std::vector<uint32_t> members;
  for (const DeviceKey& key : participants) members.push_back(machine.Find(key).value_or(0));
  NcclGroup group{.participants = participants.size(), .bus_bytes_per_us = UINT64_MAX};
  Movement movement;
  for (size_t i = 0; i < members.size(); ++i) {
    const uint64_t out = machine.Egress(members[i], members);
    const uint64_t in = machine.Ingress(members[i], members);
    group.nvlink &= out > 0 && in > 0;
    group.bus_bytes_per_us = std::min({group.bus_bytes_per_us, out, in});
    group.generation = std::min(group.generation, machine.devices[members[i]].generation);
  }
  if (!group.nvlink) group.bus_bytes_per_us = UINT64_MAX;
  for (size_t i = 0; i < members.size(); ++i) {
    const auto& route = RouteOf(participants[i], participants[(i + 1) % members.size()]);
    if (!route) continue;
    AddResources(*route, movement);
    for (const Link& leg : route->legs) {
      if (!group.nvlink) {
        group.bus_bytes_per_us = std::min(group.bus_bytes_per_us, leg.bytes_per_us);
      }
    }
  }
  const NcclTime time = NcclPicoseconds(group, kind, bytes);
  movement.ps = time.total();
  if (!movement.resources.empty()) movement.held_ps = time.moving_ps;
  return movement;
}

Movement Costs::Collective(CollectiveKind kind, const std::vector<DeviceKey>& participants,
                           bool by_nccl, uint64_t bytes) const {
  const bool gpus = std::all_of(participants.begin(), participants.end(), IsGpu);
  if (topology_.machine && by_nccl && gpus && participants.size() > 1) {
    return NcclCollective(kind, participants, bytes);
  }
  LinkRates link = by_nccl ? topology_.nccl : topology_.shm;
  Movement movement;
  for (size_t i = 0; topology_.machine && i < participants.size(); ++i) {
    const auto& route = RouteOf(participants[i], participants[(i + 1) % participants.size()]);
    if (!route) continue;
    AddResources(*route, movement);
    for (const Link& leg : route->legs) {
      link.bytes_per_us = std::min(link.bytes_per_us, leg.bytes_per_us);
      link.latency_ps = std::max(link.latency_ps, leg.latency_ps);
      link.hop_ps = std::max(link.hop_ps, leg.latency_ps);
    }
  }
  movement.ps = CollectivePicoseconds(link, kind, participants.size(), bytes);
  if (!movement.resources.empty()) movement.held_ps = movement.ps;
  return movement;
}

}  // namespace cgraph::cost
