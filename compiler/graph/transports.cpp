#include "compiler/graph/transports.h"

#include <optional>
#include <vector>

#include "fmt/format.h"

namespace cgraph {
namespace {

using graph::Device;
using graph::DeviceKind;

bool OwnsItsMemory(const Device& device) { return device.kind == DeviceKind::kGpu; }

// Why `transport` cannot carry between two different devices; nothing when it can.
std::optional<std::string> Obstacle(const Device& from, const Device& to, Transport transport) {
  if (transport == Transport::kMpi) return "mpi needs a launcher, and runs are of one machine so far";
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

Transport Automatic(const Device& from, const Device& to) {
  if (OwnsItsMemory(from) && OwnsItsMemory(to)) return Transport::kNccl;
  return OwnsItsMemory(from) || OwnsItsMemory(to) ? Transport::kHost : Transport::kLocal;
}

const char* WhyAutomatic(Transport transport) {
  switch (transport) {
    case Transport::kNccl: return "between two gpus";
    case Transport::kHost: return "between a gpu and host memory";
    default: return "one address space: no copy";
  }
}

std::string CouldServe(const Device& from, const Device& to) {
  std::vector<std::string> names;
  for (Transport other : {Transport::kLocal, Transport::kNccl, Transport::kShm, Transport::kHost}) {
    if (!Obstacle(from, to, other)) names.push_back(TransportName(other).str());
  }
  if (names.empty()) return "";
  std::string text = names[0];
  for (size_t i = 1; i < names.size(); ++i) {
    text += (i + 1 == names.size() ? " or " : ", ") + names[i];
  }
  return text;
}

}  // namespace

TransportChoice ChooseTransport(const graph::Module& module, graph::DeviceId from,
                                graph::DeviceId to, Transport asked) {
  if (from == to) return {true, Transport::kLocal, "the same device", ""};
  const Device& source = module.devices[from];
  const Device& target = module.devices[to];
  Transport transport = asked == Transport::kAuto ? Automatic(source, target) : asked;
  if (std::optional<std::string> obstacle = Obstacle(source, target, transport)) {
    return {false, transport, *obstacle, CouldServe(source, target)};
  }
  const char* reason = asked == Transport::kAuto ? WhyAutomatic(transport) : "asked for";
  return {true, transport, reason, ""};
}

}  // namespace cgraph
