#include "compiler/graph/transports.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "compiler/base/transport.h"

namespace cgraph {
namespace {

bool OwnsItsMemory(const LogicalDevice& device) { return device.kind == DeviceKind::kGpu; }

// Says why `transport` cannot carry between two different devices; nothing when it can.
std::optional<std::string> Obstacle(const LogicalDevice& from, const LogicalDevice& to,
                                    Transport transport) {
  if (transport == Transport::kMpi) return std::nullopt;
  if (from.node != to.node && transport != Transport::kNccl) {
    return fmt::format("{} and {} are on different machines", DeviceName(from), DeviceName(to));
  }
  switch (transport) {
    case Transport::kLocal:
      for (const LogicalDevice& device : {from, to}) {
        if (OwnsItsMemory(device)) {
          return fmt::format("local needs one address space, and {} has memory of its own",
                             DeviceName(device));
        }
      }
      return std::nullopt;
    case Transport::kNccl:
      for (const LogicalDevice& device : {from, to}) {
        if (!OwnsItsMemory(device)) {
          return fmt::format("nccl connects gpus, and {} is not one", DeviceName(device));
        }
      }
      return std::nullopt;
    default:  // shm and host reach every device of a node
      return std::nullopt;
  }
}

// Lists the transports that `obstacle` has nothing against: "auto, shm, host or mpi".
template <typename ObstacleOf>
std::string CouldServe(const ObstacleOf& obstacle) {
  std::vector<std::string> names = {TransportName(Transport::kAuto).str()};
  for (Transport other : {Transport::kLocal, Transport::kNccl, Transport::kShm, Transport::kHost,
                          Transport::kMpi}) {
    if (!obstacle(other)) names.push_back(TransportName(other).str());
  }
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  }
  return text;
}

template <typename ObstacleOf>
TransportChoice Judge(Transport transport, const char* reason, const ObstacleOf& obstacle) {
  if (std::optional<std::string> found = obstacle(transport)) {
    return {false, transport, *found, CouldServe(obstacle)};
  }
  return {true, transport, reason, ""};
}

constexpr const char* kAsked = "asked for";

}  // namespace

TransportChoice ChooseTransport(const graph::Module& module, graph::DeviceId from,
                                graph::DeviceId to, Transport asked) {
  if (from == to) return {true, Transport::kLocal, "the same device", ""};
  const LogicalDevice& source = module.devices[from];
  const LogicalDevice& target = module.devices[to];
  const auto obstacle = [&](Transport by) { return Obstacle(source, target, by); };
  if (asked != Transport::kAuto) return Judge(asked, kAsked, obstacle);
  const Transport automatic = AutomaticTransport(source, target);
  return Judge(automatic, WhyAutomatic(automatic), obstacle);
}

TransportChoice ChooseGroupTransport(const graph::Module& module,
                                     const std::vector<graph::DeviceId>& participants,
                                     Transport asked) {
  const auto obstacle = [&](Transport by) -> std::optional<std::string> {
    for (graph::DeviceId id : participants) {
      // Checks a single participant, too: a transport serves kinds of devices.
      auto found = Obstacle(module.devices[participants[0]], module.devices[id], by);
      if (found) return found;
    }
    return std::nullopt;
  };
  if (asked != Transport::kAuto) return Judge(asked, kAsked, obstacle);
  const auto is_gpu = [&](graph::DeviceId id) { return OwnsItsMemory(module.devices[id]); };
  if (std::all_of(participants.begin(), participants.end(), is_gpu)) {
    return Judge(Transport::kNccl, "between gpus", obstacle);
  }
  const uint32_t node = module.devices[participants[0]].node;
  const auto is_elsewhere = [&](graph::DeviceId id) { return module.devices[id].node != node; };
  if (std::any_of(participants.begin(), participants.end(), is_elsewhere)) {
    return Judge(Transport::kMpi, "between machines", obstacle);
  }
  if (std::none_of(participants.begin(), participants.end(), is_gpu)) {
    return Judge(Transport::kLocal, "one address space", obstacle);
  }
  return Judge(Transport::kHost, "between gpus and host memory", obstacle);
}

}  // namespace cgraph
