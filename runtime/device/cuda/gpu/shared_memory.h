// What several processes of an engine share of the memory that GPUs reach: host memory, and blocks
// of a GPU's memory that another GPU's process reads.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_GPU_SHARED_MEMORY_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_GPU_SHARED_MEMORY_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/cuda/gpu/gpu.h"
#include "runtime/device/memory.h"
#include "runtime/device/shared_memory.h"

namespace cgraph::cuda {

// PinnedSource: host memory of a source that several processes map, each at the same address. Each
// registers it with its driver: then its GPUs reach it, too, by that address. Thread-safe.
class PinnedSource {
 public:
  // `gpu` stands for all of this process. kUnsupported where GPUs reach registered memory by
  // another address only.
  static Result<std::shared_ptr<PinnedSource>> Make(std::shared_ptr<Gpu> gpu,
                                                    std::shared_ptr<device::MemorySource> source);
  ~PinnedSource();

  // Takes memory of the source and registers it. kInvalid, with `what`, where the driver refuses.
  Result<device::Memory> Allocate(uint64_t bytes, device::MemoryKind kind, const std::string& what);
  // Registers whole pages that another process has taken.
  Status Register(std::byte* data, uint64_t bytes, const std::string& what);
  bool Contains(const void* data) const { return source_->Contains(data); }

 private:
  PinnedSource(std::shared_ptr<Gpu> gpu, std::shared_ptr<device::MemorySource> source)
      : gpu_(std::move(gpu)), source_(std::move(source)) {}

  const std::shared_ptr<Gpu> gpu_;
  const std::shared_ptr<device::MemorySource> source_;
  std::mutex mutex_;
  std::vector<std::byte*> registered_;  // under mutex_
};

// Returns how many bytes are to be allocated for a block that is to be exported: the driver shares
// all of the 2 MiB that an allocation is part of, so it is part of none.
inline uint64_t InExports(uint64_t bytes) {
  constexpr uint64_t kShared = uint64_t{2} << 20;
  return (bytes + kShared - 1) / kShared * kShared;
}

// Return what another process opens a block of the GPU's by; the block that another process has
// exported, as this GPU finds it. kUnsupported with the driver's error.
Result<device::ExportedMemory> ExportFromGpu(const Gpu& gpu, const device::Memory& memory);
Result<device::Memory> ImportToGpu(const std::shared_ptr<Gpu>& gpu,
                                   const device::ExportedMemory& exported);

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_GPU_SHARED_MEMORY_H_
