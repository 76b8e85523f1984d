#include "compiler/graph/transports.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "compiler/base/transport.h"

namespace cgraph {
namespace {

bool OwnsItsMemory(const LogicalDevice& device) { return device.kind == DeviceKind::kGpu; }

// Says why what is staged in the caller's memory cannot come from a device; nothing when it can.
std::optional<std::string> CallerIsElsewhere(const LogicalDevice& device) {
  if (device.node == LogicalDevice().node) return std::nullopt;
  return fmt::format("host goes through the caller's memory, and {} is on another machine",
                     DeviceName(device));
}

// Says why `transport` cannot carry between two different devices; nothing when it can.
std::optional<std::string> Obstacle(const LogicalDevice& from, const LogicalDevice& to,
                                    TransportKind transport) {
  if (transport == TransportKind::kMpi) return std::nullopt;
  if (from.node != to.node && transport != TransportKind::kNccl) {
    return fmt::format("{} and {} are on different machines", DeviceName(from), DeviceName(to));
  }
  switch (transport) {
    case TransportKind::kLocal:
      for (const LogicalDevice& device : {from, to}) {
        if (OwnsItsMemory(device)) {
          return fmt::format("local needs one address space, and {} has memory of its own",
                             DeviceName(device));
        }
      }
      return std::nullopt;
    case TransportKind::kNccl:
      for (const LogicalDevice& device : {from, to}) {
        if (!OwnsItsMemory(device)) {
          return fmt::format("nccl connects gpus, and {} is not one", DeviceName(device));
        }
      }
      return std::nullopt;
    case TransportKind::kHost:
      if (OwnsItsMemory(from) && OwnsItsMemory(to)) return CallerIsElsewhere(from);
      return std::nullopt;
    default:  // shm reaches every device of a node
      return std::nullopt;
  }
}

// Lists the transports that `obstacle` has nothing against: "auto, shm, mpi or host".
template <typename ObstacleOf>
std::string CouldServe(const ObstacleOf& obstacle) {
  std::vector<std::string> names = {TransportName(TransportKind::kAuto).str()};
  for (const TransportTraits& traits : kTransportTraits) {
    if (!obstacle(traits.kind)) names.push_back(traits.name);
  }
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  }
  return text;
}

template <typename ObstacleOf>
TransportChoice Judge(TransportKind transport, const char* reason, const ObstacleOf& obstacle) {
  if (std::optional<std::string> found = obstacle(transport)) {
    return {false, transport, *found, CouldServe(obstacle)};
  }
  return {true, transport, reason, ""};
}

constexpr const char* kAsked = "asked for";

}  // namespace

TransportChoice ChooseTransport(const graph::Module& module, graph::DeviceId from,
                                graph::DeviceId to, TransportKind asked) {
  if (from == to) return {true, TransportKind::kLocal, "the same device", ""};
  const LogicalDevice& source = module.devices[from];
  const LogicalDevice& target = module.devices[to];
  const auto obstacle = [&](TransportKind by) { return Obstacle(source, target, by); };
  if (asked != TransportKind::kAuto) return Judge(asked, kAsked, obstacle);
  const TransportKind automatic = AutomaticTransport(source, target);
  return Judge(automatic, WhyAutomatic(automatic), obstacle);
}

TransportChoice ChooseGroupTransport(const graph::Module& module,
                                     const std::vector<graph::DeviceId>& participants,
                                     TransportKind asked) {
  const auto obstacle = [&](TransportKind by) -> std::optional<std::string> {
    for (graph::DeviceId id : participants) {
      // Checks a single participant, too: a transport serves kinds of devices.
      auto found = Obstacle(module.devices[participants[0]], module.devices[id], by);
      if (!found && by == TransportKind::kHost) found = CallerIsElsewhere(module.devices[id]);
      if (found) return found;
    }
    return std::nullopt;
  };
  if (asked != TransportKind::kAuto) return Judge(asked, kAsked, obstacle);
  const auto is_gpu = [&](graph::DeviceId id) { return OwnsItsMemory(module.devices[id]); };
  if (std::all_of(participants.begin(), participants.end(), is_gpu)) {
    return Judge(TransportKind::kNccl, "between gpus", obstacle);
  }
  const uint32_t node = module.devices[participants[0]].node;
  const auto is_elsewhere = [&](graph::DeviceId id) { return module.devices[id].node != node; };
  if (std::any_of(participants.begin(), participants.end(), is_elsewhere)) {
    return Judge(TransportKind::kMpi, "between machines", obstacle);
  }
  if (std::none_of(participants.begin(), participants.end(), is_gpu)) {
    return Judge(TransportKind::kLocal, "one address space", obstacle);
  }
  if (CallerIsElsewhere(module.devices[participants[0]])) {
    return Judge(TransportKind::kMpi, "between gpus and host memory of another machine", obstacle);
  }
  return Judge(TransportKind::kHost, "between gpus and host memory", obstacle);
}

}  // namespace cgraph
