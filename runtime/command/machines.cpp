#include "runtime/command/machines.h"

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/engine/machines/machines.h"
#include "runtime/ranks/launcher.h"

namespace cgraph::command {

Result<ranks::Peers*> ConnectMachines() {
  const auto launch = ranks::FindLaunch();
  if (!launch.ok()) return launch.status();
  if (!*launch) return static_cast<ranks::Peers*>(nullptr);
  return ranks::Connect(**launch);
}

int ServeMachine(ranks::Peers& peers) {
  return engine::ServeMachine(peers);
}

void EndMachines(ranks::Peers& peers, ExitCode code) {
  if (engine::EndMachines(peers, code)) return;
  peers.messenger.EndAll(code);
}

Problem CheckMachineFlags(const Options& options) {
  const std::pair<const char*, bool> flags[] = {
      {"--processes", options.processes != 0},
      {"--workers", options.workers != 0},
      {"--unproved", options.unproved},
  };
  for (const auto& [flag, given] : flags) {
    if (!given) continue;
    return {kUsage, fmt::format("{} is about one machine; under a launcher of MPI programs each "
                                "process serves the devices of one node; leave it out",
                                flag)};
  }
  return {};
}

std::string NoteOfNodes(const plan::Plan& plan, const Options& options,
                        const ranks::Peers* peers) {
  const uint32_t nodes = engine::NodesOf(plan);
  if (peers != nullptr || nodes == 1) return "";
  return fmt::format("node[0] to node[{}] are all {}; `mpirun -n {} cgrun ...` gives each a "
                     "process of its own",
                     nodes - 1, options.processes == 0 ? "in this process" : "on this machine",
                     nodes);
}

std::string NoteOfUnsupervised(const ranks::Peers* peers) {
  if (peers == nullptr || peers->supervision == nullptr) return "";
  // Those that have connected may not have been heard yet, on a busy machine.
  constexpr std::chrono::seconds kPatience(2);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  std::vector<uint32_t> unconnected;
  while (!(unconnected = peers->supervision->Unconnected()).empty() &&
         std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (unconnected.empty()) return "";
  return fmt::format("rank{} {} could not connect to rank 0 by TCP; if one dies, only the launcher "
                     "or --timeout may notice; let connections through between the machines",
                     unconnected.size() == 1 ? "" : "s", fmt::join(unconnected, ", "));
}

}  // namespace cgraph::command
