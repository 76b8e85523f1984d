// The processors.
#ifndef CGRAPH_RUNTIME_DEVICE_SYNC_CORES_H_
#define CGRAPH_RUNTIME_DEVICE_SYNC_CORES_H_

#include <cstdint>

namespace cgraph::device {

// Returns how many processors this process may use.
uint32_t Cores();

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_SYNC_CORES_H_
