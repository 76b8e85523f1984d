#include "runtime/command/machines.h"

#include <signal.h>

#include <cstdio>

#include <fmt/format.h>

#include "runtime/engine/machines.h"
#include "runtime/ranks/launcher.h"

namespace cgraph::command {

Result<ranks::Messenger*> ConnectMachines() {
  const auto launch = ranks::FindLaunch();
  if (!launch.ok()) return launch.status();
  if (!*launch) return static_cast<ranks::Messenger*>(nullptr);
  return ranks::Connect(**launch);
}

int ServeMachine(ranks::Messenger& messenger) {
  for (const int number : {SIGINT, SIGTERM, SIGUSR1}) signal(number, SIG_IGN);
  return engine::ServeMachine(messenger);
}

void EndMachines(ranks::Messenger& messenger, ExitCode code) {
  if (engine::EndMachines(messenger)) return;
  std::fflush(nullptr);
  messenger.wire().Abort(code);
}

std::string NoteOfNodes(const plan::Plan& plan, const ranks::Messenger* messenger) {
  const uint32_t nodes = engine::NodesOf(plan);
  if (messenger != nullptr || nodes == 1) return "";
  return fmt::format("node[0] to node[{}] are all in this process; `mpirun -n {} cgrun ...` gives "
                     "each a process of its own",
                     nodes - 1, nodes);
}

}  // namespace cgraph::command
