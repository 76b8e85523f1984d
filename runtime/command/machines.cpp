#include "runtime/command/machines.h"

#include <signal.h>

#include <cstdio>
#include <utility>

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
  for (const int number : {SIGINT, SIGTERM, SIGUSR1}) signal(number, SIG_IGN);
  return engine::ServeMachine(peers);
}

void EndMachines(ranks::Peers& peers, ExitCode code) {
  if (engine::EndMachines(peers)) return;
  std::fflush(nullptr);
  peers.messenger.wire().Abort(code);
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

std::string NoteOfNodes(const plan::Plan& plan, const ranks::Peers* peers) {
  const uint32_t nodes = engine::NodesOf(plan);
  if (peers != nullptr || nodes == 1) return "";
  return fmt::format("node[0] to node[{}] are all in this process; `mpirun -n {} cgrun ...` gives "
                     "each a process of its own",
                     nodes - 1, nodes);
}

}  // namespace cgraph::command
