#include "runtime/command/machines.h"

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/command/gpus.h"
#include "runtime/engine/machines/machines.h"
#include "runtime/ranks/launcher.h"

namespace cgraph::command {

ExitCode ConnectMachines(ranks::Peers** peers) {
  const auto launch = ranks::FindLaunch();
  if (!launch) return kSuccess;
  const Result<ranks::Peers*> connected = ranks::Connect(*launch);
  if (connected.ok()) {
    *peers = *connected;
    return kSuccess;
  }
  const Status& status = connected.status();
  if (launch->local_rank != 0) {
    // A launcher ends all with the first that ends, maybe before the message is out.
    std::this_thread::sleep_for(std::chrono::seconds(1));
    return ExitCodeOf(status.code());
  }
  const uint32_t here = launch->processes_here;
  return Report({}, ExitCodeOf(status.code()),
                here == 1 ? status.message()
                          : fmt::format("{} (said once for the {} processes on {})",
                                        status.message(), here, ranks::Process::This().host));
}

int ServeMachine(ranks::Peers& peers) { return engine::ServeMachine(peers, DescribeDevices); }

void EndMachines(ranks::Peers& peers, ExitCode code) {
  if (engine::EndMachines(peers, code)) return;
  SayEnds(&peers);
  peers.messenger.EndAll(code);
}

void SayEnds(ranks::Peers* peers) {
  if (peers != nullptr && peers->supervision != nullptr) peers->supervision->SayEnds();
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

Problem CheckProcessCount(const plan::Plan& plan, const ranks::Peers& peers) {
  const Status fits = engine::CheckNodes(plan, peers);
  return fits.ok() ? Problem() : Problem{kUsage, fits.message()};
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
