#include "compiler/graph/transports.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "compiler/base/transport_choice.h"

namespace cgraph {
namespace {

using graph::Device;
using graph::DeviceKind;

bool OwnsItsMemory(const Device& device) { return device.kind == DeviceKind::kGpu; }

// Why `transport` cannot carry between two different devices; nothing when it can.
std::optional<std::string> Obstacle(const Device& from, const Device& to, Transport transport) {
  if (transport == Transport::kMpi) {
    return "mpi needs a launcher, and runs are of one machine so far";
  }
  if (from.node != to.node) {
    return fmt::format("{} and {} are on different nodes, and runs are of one machine so far",
                       DeviceName(from), DeviceName(to));
  }
  switch (transport) {
    case Transport::kLocal:
      for (const Device& device : {from, to}) {
        if (OwnsItsMemory(device)) {
          return fmt::format("local needs one address space, and {} has memory of its own",
                             DeviceName(device));
        }
      }
      return std::nullopt;
    case Transport::kNccl:
      for (const Device& device : {from, to}) {
        if (!OwnsItsMemory(device)) {
          return fmt::format("nccl connects gpus, and {} is not one", DeviceName(device));
        }
      }
      return std::nullopt;
    default:  // shm and host reach every device of a node
      return std::nullopt;
  }
}

// "shm, nccl or host"
std::string Alternatives(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  }
  return text;
}

std::string CouldServe(const Device& from, const Device& to) {
  std::vector<std::string> names;
  for (Transport other : {Transport::kLocal, Transport::kNccl, Transport::kShm, Transport::kHost}) {
    if (!Obstacle(from, to, other)) names.push_back(TransportName(other).str());
  }
  return Alternatives(names);
}

}  // namespace

TransportChoice ChooseTransport(const graph::Module& module, graph::DeviceId from,
                                graph::DeviceId to, Transport asked) {
  if (from == to) return {true, Transport::kLocal, "the same device", ""};
  const Device& source = module.devices[from];
  const Device& target = module.devices[to];
  Transport transport = asked == Transport::kAuto
                            ? AutomaticTransport(OwnsItsMemory(source), OwnsItsMemory(target))
                            : asked;
  if (std::optional<std::string> obstacle = Obstacle(source, target, transport)) {
    return {false, transport, *obstacle, CouldServe(source, target)};
  }
  const char* reason = asked == Transport::kAuto ? WhyAutomatic(transport) : "asked for";
  return {true, transport, reason, ""};
}

TransportChoice ChooseGroupTransport(const graph::Module& module,
                                     const std::vector<graph::DeviceId>& participants,
                                     Transport asked) {
  const auto is_gpu = [&](graph::DeviceId id) { return OwnsItsMemory(module.devices[id]); };
  const size_t gpus = std::count_if(participants.begin(), participants.end(), is_gpu);
  Transport transport = asked;
  if (asked == Transport::kAuto) {
    transport = gpus == participants.size() ? Transport::kNccl
                : gpus == 0                 ? Transport::kLocal
                                            : Transport::kHost;
  }
  const auto obstacle = [&](Transport by) -> std::optional<std::string> {
    for (graph::DeviceId id : participants) {
      // Also of a participant alone: a transport serves kinds of devices.
      if (auto found = Obstacle(module.devices[participants[0]], module.devices[id], by)) {
        return found;
      }
    }
    return std::nullopt;
  };
  if (std::optional<std::string> found = obstacle(transport)) {
    std::vector<std::string> names;
    for (Transport other :
         {Transport::kLocal, Transport::kNccl, Transport::kShm, Transport::kHost}) {
      if (!obstacle(other)) names.push_back(TransportName(other).str());
    }
    return {false, transport, *found, Alternatives(names)};
  }
  const char* reason = "asked for";
  if (asked == Transport::kAuto) {
    reason = transport == Transport::kNccl    ? "between gpus"
             : transport == Transport::kLocal ? "one address space"
                                              : "between gpus and host memory";
  }
  return {true, transport, reason, ""};
}

}  // namespace cgraph
