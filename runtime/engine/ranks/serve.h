// The ranks other than the first: processes that load a plan, or their part of one, and serve some
// of its workers for an engine in the process that is rank 0.
#ifndef CGRAPH_RUNTIME_ENGINE_RANKS_SERVE_H_
#define CGRAPH_RUNTIME_ENGINE_RANKS_SERVE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "runtime/cluster/launcher.h"

namespace cgraph::engine {

// Serves a rank that rank 0 has started on its machine until the engine has ended, then ends the
// process at once: nothing of it has to be given back. The rank tells rank 0 what goes wrong, and
// rank 0 reports it. cgrun is such a process where its only argument is `--rank=K`.
[[noreturn]] void ServeRank(uint32_t rank);

// Serves engines of rank 0 at a rank that a launcher has started, one after the other, until rank 0
// ends this; returns the exit code of the process, which is rank 0's. `describe`: what
// DescribeMachines() gets. `ending`: called with the exit code before all ranks end together.
int ServeMachine(cluster::Peers& peers, const std::function<std::string()>& describe = nullptr,
                 const std::function<void(int)>& ending = nullptr);
// At rank 0: ends the ranks that a launcher has started, with its exit code, once no engine is
// left. False where one of them did not end its part of an engine in time; then nothing is done.
// Where a rank is lost while all end, the others would wait for it, so all processes are ended with
// the exit code.
bool EndMachines(cluster::Peers& peers, int exit_code);

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_RANKS_SERVE_H_
