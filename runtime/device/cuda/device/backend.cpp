// The CUDA backend: serves the gpus of a plan on the GPUs of this machine, and its other devices in
// memory that GPUs reach.
#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>

#include "runtime/device/cuda/device/cuda_device.h"
#include "runtime/device/cuda/gpu/gpu.h"
#include "runtime/device/cuda/gpu/shared_memory.h"
#include "runtime/plan/print.h"

namespace cgraph::cuda {
namespace {

using namespace device;

// HostDevice: one of the host's devices beside GPUs: the caller, or cpu[i]. It computes on the CPU,
// in pinned memory that GPUs reach. `cpu`: the device of the CPU's backend that does the work.
// `shared`: where its memory is, if several processes share it; else null.
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

class CudaBackend : public Backend {
 public:
  CudaBackend(const Driver& driver, const Assignment& assignment)
      : driver_(driver), gpu_of_device_(assignment.gpus), among_(assignment.among) {
    communicators_->GiveUpWhere(among_.gives_up);
  }

  std::string_view name() const override { return "cuda"; }

  Status Serves(const plan::Plan& plan, uint32_t device) const override {
    CGRAPH_RETURN_IF_ERROR(cpu_->Serves(plan, device));  // of this machine
    const bool mapped = gpu_of_device_.count(device) != 0;
    if (mapped || plan.devices[device]->kind != plan::DeviceKind::gpu) return Status::Ok();
    return Status(StatusCode::kUnsupported,
                  fmt::format("{} is mapped to no GPU", plan::DeviceName(plan, device)));
  }

  Result<std::unique_ptr<Device>> Open(const plan::Plan& plan, uint32_t device) override {
    if (plan.devices[device]->kind == plan::DeviceKind::gpu) {
      auto gpu = GpuOf(plan, device);
      if (!gpu.ok()) return gpu.status();
      auto pinned = Pinned(*gpu);
      if (!pinned.ok()) return pinned.status();
      auto made = CudaDevice::Make(plan::DeviceName(plan, device), std::move(*gpu), communicators_,
                                   std::move(*pinned), among_.failed);
      if (!made.ok()) return made.status();
      return std::unique_ptr<Device>(std::move(*made));
    }
    // The devices of the host take pinned memory, which queues of GPUs read and write where it
    // lies. Any GPU of the plan may allocate what all of them reach.
    if (gpu_of_device_.empty()) return cpu_->Open(plan, device);
    auto gpu = GpuOf(plan, gpu_of_device_.begin()->first);
    if (!gpu.ok()) return gpu.status();
    auto cpu = cpu_->Open(plan, device);
    if (!cpu.ok()) return cpu.status();
    auto pinned = Pinned(*gpu);
    if (!pinned.ok()) return pinned.status();
    return std::unique_ptr<Device>(
        new HostDevice(std::move(*gpu), std::move(*cpu), std::move(*pinned)));
  }

 private:
  // Returns "gpu[0], gpu[2]"; of many, the first few and how many more.
  std::string DevicesOn(const plan::Plan& plan, uint32_t ordinal) const {
    constexpr size_t kMost = 4;
    std::string names;
    size_t count = 0;
    for (const auto& [device, gpu] : gpu_of_device_) {
      if (gpu != ordinal || count++ >= kMost) continue;
      names += (names.empty() ? "" : ", ") + plan::DeviceName(plan, device);
    }
    if (count > kMost) names += fmt::format(" and {} more", count - kMost);
    return names;
  }

  // Returns what all processes share, as this one's GPUs reach it; null where there are no others.
  Result<std::shared_ptr<PinnedSource>> Pinned(const std::shared_ptr<Gpu>& gpu) {
    if (among_.memory == nullptr || pinned_ != nullptr) return pinned_;
    auto made = PinnedSource::Make(gpu, among_.memory);
    if (made.ok()) pinned_ = *made;
    return made;
  }

  // Opens each GPU once.
  Result<std::shared_ptr<Gpu>> GpuOf(const plan::Plan& plan, uint32_t device) {
    const uint32_t ordinal = gpu_of_device_.at(device);
    std::shared_ptr<Gpu>& gpu = gpus_[ordinal];
    if (gpu == nullptr) {
      auto opened = Gpu::Open(driver_, static_cast<int>(ordinal), DevicesOn(plan, ordinal));
      if (!opened.ok()) return opened.status();
      for (const auto& [other_ordinal, other] : gpus_) {
        if (other == nullptr) continue;
        (*opened)->ReachPeer(*other);
        other->ReachPeer(**opened);
      }
      gpu = std::move(*opened);
    }
    return gpu;
  }

  const Driver& driver_;
  const GpuMap gpu_of_device_;
  const AmongProcesses among_;
  std::shared_ptr<PinnedSource> pinned_;
  std::map<uint32_t, std::shared_ptr<Gpu>> gpus_;
  std::shared_ptr<NcclCommunicators> communicators_ = std::make_shared<NcclCommunicators>();
  std::unique_ptr<Backend> cpu_ = MakeCpuBackend();
};

}  // namespace

std::unique_ptr<Backend> MakeCudaBackend(const Driver& driver, const Assignment& assignment) {
  return std::make_unique<CudaBackend>(driver, assignment);
}

}  // namespace cgraph::cuda
