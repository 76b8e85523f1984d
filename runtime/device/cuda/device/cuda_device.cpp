#include "runtime/device/cuda/device/cuda_device.h"

#include <algorithm>
#include <utility>

#include "runtime/device/cuda/collectives/nccl_communicator.h"
#include "runtime/device/cuda/device/cuda_queue.h"

namespace cgraph::cuda {

using namespace device;

Result<std::unique_ptr<CudaDevice>> CudaDevice::Make(
    std::string name, std::shared_ptr<Gpu> gpu, std::shared_ptr<NcclCommunicators> communicators,
    std::shared_ptr<PinnedSource> shared, std::function<void(const Status&)> failed) {
  auto poison = DevicePoison::Make(gpu);
  if (!poison.ok()) return poison.status();
  return std::unique_ptr<CudaDevice>(
      new CudaDevice(std::move(name), std::move(gpu), std::move(*poison),
                     std::move(communicators), std::move(shared), std::move(failed)));
}

// What several processes share comes first: pinned memory from the region that all of them map, and
// blocks that the driver exports whole. Collectives by NCCL want memory that NCCL gives.
Result<Memory> CudaDevice::Allocate(uint64_t bytes, MemoryKind kind, const std::string& what) {
  if (kind == MemoryKind::pinned && shared_ != nullptr) {
    return shared_->Allocate(bytes, kind, what);
  }
  if (kind == MemoryKind::pinned) return AllocatePinned(gpu(), bytes, kind, what);
  if (kind == MemoryKind::shareable && shared_ != nullptr) {
    return AllocateOnGpu(gpu(), InExports(bytes), kind, what);
  }
  if (kind == MemoryKind::symmetric) return AllocateForCollectives(gpu(), bytes, kind, what);
  return AllocateOnGpu(gpu(), bytes, kind, what);
}

Result<std::unique_ptr<Executable>> CudaDevice::MakeKernel(const plan::Kernel& kernel,
                                                           std::span<const OperandType> inputs,
                                                           std::span<const OperandType> outputs) {
  CGRAPH_RETURN_IF_ERROR(logical_gpu_.Check(gpu()->MakeCurrent(), "making a kernel"));
  auto made = MakeCudaKernel(gpu()->target(), kernel, inputs, outputs);
  if (!made.ok()) return made.status();
  auto prepared = std::make_unique<Prepared>();
  prepared->kernel = std::move(*made);
  most_scratch_ = std::max(most_scratch_, prepared->kernel->scratch());
  return std::unique_ptr<Executable>(std::move(prepared));
}

Result<std::unique_ptr<Executable>> CudaDevice::MakeUpload(std::unique_ptr<Source> source) {
  auto prepared = std::make_unique<Prepared>();
  prepared->source = std::move(source);
  return std::unique_ptr<Executable>(std::move(prepared));
}

Result<std::unique_ptr<Executable>> CudaDevice::MakeQueueCode(std::unique_ptr<QueueCode> code) {
  auto prepared = std::make_unique<Prepared>();
  prepared->code = std::move(code);
  poison_->LetHostLook();
  return std::unique_ptr<Executable>(std::move(prepared));
}

bool CudaDevice::MakeCurrent() {
  return !gpu()->driver().abandoned() && gpu()->MakeCurrent() == CUDA_SUCCESS;
}

Result<std::unique_ptr<Queue>> CudaDevice::OpenQueue(const QueueOptions& options) {
  QueueOptions own = options;
  own.scratch = most_scratch_;
  auto queue = CudaQueue::Open(logical_gpu_, *poison_, watcher_, own);
  if (!queue.ok()) return queue.status();
  return std::unique_ptr<Queue>(std::move(*queue));
}

bool CudaDevice::Reaches(const Device& other) const {
  const auto* device = dynamic_cast<const CudaDevice*>(&other);
  return device != nullptr && gpu()->Reaches(*device->gpu());
}

Result<std::shared_ptr<Communicator>> CudaDevice::MakeCommunicator(
    uint32_t number, std::span<Device* const> members) {
  std::vector<std::shared_ptr<Gpu>> gpus;
  for (Device* member : members) {
    const auto* device = dynamic_cast<const CudaDevice*>(member);
    if (device == nullptr) return std::shared_ptr<Communicator>();
    gpus.push_back(device->gpu());
  }
  auto made = communicators_->Of(number, std::move(gpus));
  if (!made.ok()) return made.status();
  return std::shared_ptr<Communicator>(std::move(*made));
}

Result<CommunicatorOffer> CudaDevice::OfferCommunicator(uint32_t number,
                                                        std::span<const uint32_t> units,
                                                        bool makes_id) {
  return communicators_->Offer(number, units, makes_id);
}

Result<std::shared_ptr<Communicator>> CudaDevice::JoinCommunicator(uint32_t number,
                                                                   std::span<Device* const> members,
                                                                   std::span<const uint32_t> units,
                                                                   const CommunicatorId& id) {
  std::vector<std::shared_ptr<Gpu>> gpus;  // null: another process's
  for (Device* member : members) {
    const auto* device = dynamic_cast<const CudaDevice*>(member);
    gpus.push_back(device != nullptr ? device->gpu() : nullptr);
  }
  auto made = communicators_->Join(number, std::move(gpus), units, id);
  if (!made.ok()) return made.status();
  return std::shared_ptr<Communicator>(std::move(*made));
}

Status CudaDevice::AddGraph(const GraphLayout& layout) {
  return poison_->Add(layout);
}

// An execution that has failed is not the steady state: this may wait for the GPU.
Status CudaDevice::ClearPoison(const Bindings& bindings) {
  const CUresult cleared = poison_->table(bindings.graph).Clear(bindings);
  if (cleared == CUDA_SUCCESS) return Status::Ok();
  return {StatusCode::kFailed, logical_gpu_.FailureText(cleared)};
}

Status CudaDevice::Failure() const {
  CGRAPH_RETURN_IF_ERROR(communicators_->Failure());
  return logical_gpu_.Failure();
}

Status CudaDevice::Upload(std::byte* to, const void* from, uint64_t bytes) {
  return gpu()->CopyToGpu(to, from, bytes);
}

Status CudaDevice::Download(void* to, const std::byte* from, uint64_t bytes) {
  const std::string what = "copying";
  CGRAPH_RETURN_IF_ERROR(logical_gpu_.Check(gpu()->MakeCurrent(), what));
  return logical_gpu_.Check(gpu()->driver().cuMemcpyDtoH(to, AddressOf(from), bytes), what);
}

}  // namespace cgraph::cuda
