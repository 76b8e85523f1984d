// What the devices of several processes of a machine do for each other's memory.
#ifndef CGRAPH_RUNTIME_DEVICE_SHARED_MEMORY_H_
#define CGRAPH_RUNTIME_DEVICE_SHARED_MEMORY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/base/status.h"
#include "runtime/device/memory.h"

namespace cgraph::device {

// ExportedMemory: what another process of the machine opens a block of a device's memory with.
// Its bytes mean something to devices of the same backend alone.
struct ExportedMemory {
  std::array<std::byte, 64> handle{};
  uint64_t bytes = 0;  // of the block
};

// SharedMemory: a device whose memory devices of other processes read, and the other way round.
// Export makes a block of this device's memory, of the kind `shareable`, one that others open.
// Import gives a handle on the same bytes, at an address of the reader's. The block stays until all
// readers have dropped their handles. kUnsupported, with why, where the two cannot.
class SharedMemory {
 public:
  virtual ~SharedMemory() = default;
  virtual Result<ExportedMemory> Export(const Memory& memory) = 0;
  virtual Result<Memory> Import(const ExportedMemory& exported) = 0;
};

// HostReach: the caller's device, where queues reach host memory only after the device knows it.
class HostReach {
 public:
  virtual ~HostReach() = default;
  // Lets the queues of this process reach host memory that another process has taken of what all
  // share. kInvalid, with `what`, where the system refuses.
  virtual Status Reach(std::byte* data, uint64_t bytes, const std::string& what) = 0;
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_SHARED_MEMORY_H_
