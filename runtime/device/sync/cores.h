// The processors, and for how long it is worth to spin on one.
#ifndef CGRAPH_RUNTIME_DEVICE_SYNC_CORES_H_
#define CGRAPH_RUNTIME_DEVICE_SYNC_CORES_H_

#include <cstdint>

namespace cgraph::device {

// The processors that this process may use.
uint32_t Cores();

// How many times to look for news, with a pause in between, before sleeping: about as long as
// waking a thread takes. Measured once per process. 0 where `threads` that spin would be more than
// cores.
uint32_t SpinBudget(uint32_t threads);

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_SYNC_CORES_H_
