// Memory of the host that has addresses from the start and takes room on the machine where it is
// first wanted: for inputs that callers mostly lend, which are read where the callers have them.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_RESERVED_MEMORY_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_RESERVED_MEMORY_H_

#include <cstdint>
#include <string>

#include "runtime/base/status.h"
#include "runtime/device/memory.h"

namespace cgraph::device {

// Returns a block that is zero and not touched. kInvalid, with `what`, where the system refuses.
Result<Memory> ReserveMemory(uint64_t bytes, const std::string& what);

// Takes room for a part of such a block, before it is written to. kInvalid, with `what`, when
// it is more than is free.
Status TakeReserved(void* data, uint64_t bytes, const std::string& what);

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_RESERVED_MEMORY_H_
