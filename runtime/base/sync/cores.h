// The cores of this machine.
#ifndef CGRAPH_RUNTIME_BASE_SYNC_CORES_H_
#define CGRAPH_RUNTIME_BASE_SYNC_CORES_H_

#include <sched.h>

#include <cstdint>
#include <span>

namespace cgraph {

// Returns the cores that this process may use; none where the machine has more of them than a
// cpu_set_t holds.
cpu_set_t AllowedCores();

// Returns how many cores this process may use.
uint32_t Cores();

// Returns the share of a process that may use the cores `own`, where `of_all` says which cores each
// process may use, that one too: a core that n of them may use counts 1/n. So four processes that
// may all use the same two cores have a share of 0.5 each. 1 where `own` is empty.
double ShareOfCores(const cpu_set_t& own, std::span<const cpu_set_t> of_all);

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_BASE_SYNC_CORES_H_
