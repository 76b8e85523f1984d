// ExportedMemory: what another process of the machine opens a block of a device's memory with.
#ifndef CGRAPH_RUNTIME_DEVICE_EXPORTED_MEMORY_H_
#define CGRAPH_RUNTIME_DEVICE_EXPORTED_MEMORY_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace cgraph::device {

// Bytes that mean something to devices of the same backend alone.
struct ExportedMemory {
  std::array<std::byte, 64> handle{};
  uint64_t bytes = 0;  // of the block
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_EXPORTED_MEMORY_H_
