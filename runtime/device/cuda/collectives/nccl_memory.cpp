#include "runtime/device/cuda/collectives/nccl_memory.h"

#include <utility>

#include "runtime/device/cuda/libraries/nccl.h"

namespace cgraph::cuda {
namespace {

class NcclBlock : public GpuBlock {
 public:
  NcclBlock(const Nccl& nccl, std::shared_ptr<Gpu> gpu, std::string what)
      : GpuBlock(std::move(gpu), std::move(what)), nccl_(nccl) {}

 private:
  void Release(std::byte* data) override {
    gpu().driver().cuStreamSynchronize(nullptr);  // that filled it, if it was never used
    nccl_.ncclMemFree(data);
  }

  const Nccl& nccl_;
};

}  // namespace

Result<device::Memory> AllocateForCollectives(const std::shared_ptr<Gpu>& gpu, uint64_t bytes,
                                              device::MemoryKind kind, const std::string& what) {
  const Result<const Nccl*> nccl = Nccl::Get();
  if (bytes == 0 || !nccl.ok() || !gpu->reached_by_all()) {
    return AllocateOnGpu(gpu, bytes, kind, what);
  }
  CGRAPH_RETURN_IF_ERROR(gpu->account().CheckFree(bytes, what));
  const uint64_t size = InBlocks(bytes);
  void* data = nullptr;
  if ((*nccl)->ncclMemAlloc(&data, size) != nccl::kSuccess || data == nullptr) {
    return AllocateOnGpu(gpu, bytes, kind, what);
  }
  device::Memory memory(static_cast<std::byte*>(data), size, kind, /*host_visible=*/false,
                        std::make_shared<NcclBlock>(**nccl, gpu, what));
  gpu->account().Add(what, size);
  CGRAPH_RETURN_IF_ERROR(gpu->Zero(data, size, what));
  return memory;
}

bool IsOfNccl(const device::Memory& memory) {
  return dynamic_cast<const NcclBlock*>(memory.owner()) != nullptr;
}

}  // namespace cgraph::cuda
