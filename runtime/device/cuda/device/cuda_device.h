// CudaDevice: a device of a plan on a GPU, as loading sees it: memory, kernels, queues and
// communicators. What its queues know of it afterwards is in LogicalGpu and DevicePoison.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_CUDA_DEVICE_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_CUDA_DEVICE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "runtime/device/backends.h"
#include "runtime/device/cuda/collectives/communicators.h"
#include "runtime/device/cuda/device/device_poison.h"
#include "runtime/device/cuda/device/logical_gpu.h"
#include "runtime/device/cuda/device/queue_watcher.h"
#include "runtime/device/cuda/gpu/gpu.h"
#include "runtime/device/cuda/gpu/shared_memory.h"
#include "runtime/device/device.h"

namespace cgraph::cuda {

// Returns the backend that serves the gpus of a plan on the GPUs of this machine, and its other
// devices in memory that GPUs reach.
std::unique_ptr<device::Backend> MakeCudaBackend(const Driver& driver,
                                                 const device::Assignment& assignment);

class CudaDevice : public device::Device,
                   public device::Communicators,
                   public device::SharedMemory,
                   public device::ForeignCode {
 public:
  // `name`: the plan's, as gpu[0]. `communicators`: of all devices of the engine. Where several
  // processes serve the plan, `shared` is what they share of host memory (else null), and `failed`
  // is called when this device fails as a whole. kUnsupported when the kernels of this library lack
  // one that every device needs.
  static Result<std::unique_ptr<CudaDevice>> Make(std::string name, std::shared_ptr<Gpu> gpu,
                                                  std::shared_ptr<NcclCommunicators> communicators,
                                                  std::shared_ptr<PinnedSource> shared,
                                                  std::function<void(const Status&)> failed);

  Result<device::Memory> Allocate(uint64_t bytes, device::MemoryKind kind,
                                  const std::string& what) override;
  Result<device::ExportedMemory> Export(const device::Memory& memory) override {
    return ExportFromGpu(*gpu(), memory);
  }
  Result<device::Memory> Import(const device::ExportedMemory& exported) override {
    return ImportToGpu(gpu(), exported);
  }
  Result<std::unique_ptr<device::Executable>> MakeKernel(
      const plan::Kernel& kernel, std::span<const device::OperandType> inputs,
      std::span<const device::OperandType> outputs) override;
  Result<std::unique_ptr<device::Executable>> MakeUpload(
      std::unique_ptr<device::Source> source) override;
  Result<std::unique_ptr<device::Executable>> MakeQueueCode(
      std::unique_ptr<device::QueueCode> code) override;
  bool MakeCurrent() override;
  Result<std::unique_ptr<device::Queue>> OpenQueue(const device::QueueOptions& options) override;
  bool Reaches(const device::Device& other) const override;
  bool CarriesOut(CollectiveKind kind, std::optional<Reduction> reduction,
                  plan::DType dtype) const override {
    return NcclCommunicator::CarriesOut(kind, reduction, dtype);
  }
  Result<std::shared_ptr<device::Communicator>> MakeCommunicator(
      uint32_t number, std::span<device::Device* const> members) override;
  Result<device::CommunicatorOffer> OfferCommunicator(uint32_t number,
                                                      std::span<const uint32_t> units,
                                                      bool makes_id) override;
  Result<std::shared_ptr<device::Communicator>> JoinCommunicator(
      uint32_t number, std::span<device::Device* const> members, std::span<const uint32_t> units,
      const device::CommunicatorId& id) override;
  Status AddGraph(const device::GraphLayout& layout) override;
  Status ClearPoison(const device::Bindings& bindings) override;
  // A GPU's queues read what the driver has pinned; the host's devices know (backend.cpp).
  bool CanLend(const void*) const override { return false; }
  device::Communicators* communicators() override { return this; }
  device::SharedMemory* shared_memory() override { return this; }
  device::ForeignCode* foreign_code() override { return this; }
  std::shared_ptr<device::SharedGpu> shared_gpu() const override { return gpu()->shared(); }
  Status Failure() const override;

  const std::shared_ptr<Gpu>& gpu() const { return logical_gpu_.gpu(); }

 private:
  CudaDevice(std::string name, std::shared_ptr<Gpu> gpu, std::unique_ptr<DevicePoison> poison,
             std::shared_ptr<NcclCommunicators> communicators,
             std::shared_ptr<PinnedSource> shared, std::function<void(const Status&)> failed)
      : Device({.queues_host_waits = false,
                .queues_communicate = true,
                .host_reaches_memory = false,
                .queues_record = true}),
        logical_gpu_(std::move(name), std::move(gpu), std::move(failed)),
        poison_(std::move(poison)),
        communicators_(std::move(communicators)),
        shared_(std::move(shared)) {}

  Status Upload(std::byte* to, const void* from, uint64_t bytes) override;
  Status Download(void* to, const std::byte* from, uint64_t bytes) override;

  LogicalGpu logical_gpu_;
  const std::unique_ptr<DevicePoison> poison_;
  const std::shared_ptr<NcclCommunicators> communicators_;
  const std::shared_ptr<PinnedSource> shared_;
  uint64_t most_scratch_ = 0;  // of a kernel, in bytes
  QueueWatcher watcher_;
};

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_CUDA_DEVICE_H_
