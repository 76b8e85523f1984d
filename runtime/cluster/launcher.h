// The launcher of MPI programs that has started this process, if one has: mpirun, mpiexec or srun.
// It has started others as well, on this machine or on several; all of them run the same command.
#ifndef CGRAPH_RUNTIME_CLUSTER_LAUNCHER_H_
#define CGRAPH_RUNTIME_CLUSTER_LAUNCHER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/cluster/messenger.h"
#include "runtime/cluster/supervision.h"

namespace cgraph::cluster {

struct Launch {
  const char* launcher;  // "mpirun of Open MPI"
  // That connects to its processes, "libcgraph_openmpi.so"; null: they have no way to connect.
  const char* library;
  uint32_t processes = 1;
  // On this machine, and which of those this one is, as far as the launcher tells.
  uint32_t processes_here = 1, local_rank = 0;
};

// Returns what the environment says of a launcher that has started several processes; nothing where
// there is none.
std::optional<Launch> FindLaunch();

// Returns "rank 1 (process 7) is stopped by a signal; `kill -CONT 7` lets it go on", of processes
// that the launcher has started on this machine, a line for each; empty: none is stopped.
std::string StoppedProcesses();

// Peers: this process and the others of a launch, as ranks.
struct Peers {
  explicit Peers(Wire& wire) : messenger(wire), share_of_cores(wire.share_of_cores()) {}
  Messenger messenger;
  const double share_of_cores;  // Wire::share_of_cores()
  std::unique_ptr<Supervision> supervision;  // null: nobody is supervised
  // Returns the first rank that is known to be lost.
  std::optional<Supervision::Lost> FirstLost() const {
    return supervision == nullptr ? std::nullopt : supervision->FirstLost();
  }
  Process ProcessOf(uint32_t rank) const;
  // Returns "rank 1 (process 7 on b), rank 2 (process 8 on c) and 6 more".
  std::string NamesOf(const std::vector<uint32_t>& ranks) const;
};

// Connects to the other processes of the launch, once in a process. What goes wrong is a sentence
// that says what to install, or which launcher fits.
Result<Peers*> Connect(const Launch& launch);

}  // namespace cgraph::cluster

#endif  // CGRAPH_RUNTIME_CLUSTER_LAUNCHER_H_
