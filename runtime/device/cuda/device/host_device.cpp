#include "runtime/device/cuda/device/host_device.h"

#include <utility>

namespace cgraph::cuda {
namespace {

using namespace device;

class HostDevice : public Device, public HostReach {
 public:
  HostDevice(std::shared_ptr<Gpu> gpu, std::unique_ptr<Device> cpu,
             std::shared_ptr<PinnedSource> shared)
      : Device(cpu->traits()),
        gpu_(std::move(gpu)),
        cpu_(std::move(cpu)),
        shared_(std::move(shared)) {}

  Result<Memory> Allocate(uint64_t bytes, MemoryKind kind, const std::string& what) override {
    if (shared_ != nullptr) return shared_->Allocate(bytes, kind, what);
    return AllocatePinned(gpu_, bytes, kind, what);
  }
  HostReach* host_reach() override { return shared_ != nullptr ? this : nullptr; }
  Status Reach(std::byte* data, uint64_t bytes, const std::string& what) override {
    return shared_->Register(data, bytes, what);
  }
  Result<std::unique_ptr<Executable>> MakeKernel(const plan::Kernel& kernel,
                                                 std::span<const OperandType> inputs,
                                                 std::span<const OperandType> outputs) override {
    return cpu_->MakeKernel(kernel, inputs, outputs);
  }
  Result<std::unique_ptr<Executable>> MakeUpload(std::unique_ptr<Source> source) override {
    return cpu_->MakeUpload(std::move(source));
  }
  Result<std::unique_ptr<Queue>> OpenQueue(const QueueOptions& options) override {
    return cpu_->OpenQueue(options);
  }
  // Copies from memory that is not pinned would be made by the issuing thread.
  bool CanLend(const void* data) const override {
    if (shared_ != nullptr) return shared_->Contains(data);
    unsigned int type = 0;
    const CUresult known = gpu_->driver().cuPointerGetAttribute(
        &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, AddressOf(data));
    return known == CUDA_SUCCESS && type == CU_MEMORYTYPE_HOST;
  }

 private:
  // All of its memory is visible to the host.
  Status Upload(std::byte* to, const void* from, uint64_t bytes) override {
    CopyBytes(to, from, bytes);
    return Status::Ok();
  }
  Status Download(void* to, const std::byte* from, uint64_t bytes) override {
    CopyBytes(to, from, bytes);
    return Status::Ok();
  }

  std::shared_ptr<Gpu> gpu_;
  std::unique_ptr<Device> cpu_;
  std::shared_ptr<PinnedSource> shared_;
};

}  // namespace

std::unique_ptr<Device> MakeHostDevice(std::shared_ptr<Gpu> gpu, std::unique_ptr<Device> cpu,
                                       std::shared_ptr<PinnedSource> shared) {
  return std::make_unique<HostDevice>(std::move(gpu), std::move(cpu), std::move(shared));
}

}  // namespace cgraph::cuda
