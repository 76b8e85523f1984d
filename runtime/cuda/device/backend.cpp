// The CUDA backend: serves the gpus of a plan on the GPUs of this machine, and its other devices in
// memory that GPUs reach.
#include <fmt/format.h>

#include <map>
#include <utility>

#include "runtime/cuda/device/cuda_device.h"
#include "runtime/cuda/device/gpu.h"
#include "runtime/cuda/device/host_device.h"
#include "runtime/cuda/library.h"
#include "runtime/device/backends.h"
#include "runtime/plan/print.h"

namespace cgraph::cuda {
namespace {

using namespace device;

class CudaBackend : public Backend {
 public:
  CudaBackend(const Driver& driver, std::vector<uint32_t> gpu_of_device)
      : driver_(driver), gpu_of_device_(std::move(gpu_of_device)) {}

  std::string_view name() const override { return "cuda"; }

  Status Serves(const plan::Plan& plan, uint32_t device) const override {
    return cpu_->Serves(plan, device);  // of this machine
  }

  Result<std::unique_ptr<Device>> Open(const plan::Plan& plan, uint32_t device) override {
    if (plan.devices[device]->kind == plan::DeviceKind::gpu) {
      auto gpu = GpuOf(plan, device);
      if (!gpu.ok()) return gpu.status();
      auto made = CudaDevice::Make(std::move(*gpu));
      if (!made.ok()) return made.status();
      return std::unique_ptr<Device>(std::move(*made));
    }
    // Any GPU of the plan may allocate what all of them reach.
    uint32_t any = 0;
    while (any < plan.devices.size() && plan.devices[any]->kind != plan::DeviceKind::gpu) ++any;
    if (any == plan.devices.size()) return cpu_->Open(plan, device);
    auto gpu = GpuOf(plan, any);
    if (!gpu.ok()) return gpu.status();
    auto cpu = cpu_->Open(plan, device);
    if (!cpu.ok()) return cpu.status();
    return MakeHostDevice(std::move(*gpu), std::move(*cpu));
  }

 private:
  // Opens each GPU once. Without a map, gpu[i] is the i-th GPU.
  Result<std::shared_ptr<Gpu>> GpuOf(const plan::Plan& plan, uint32_t device) {
    const uint32_t ordinal = device < gpu_of_device_.size() ? gpu_of_device_[device]
                                                            : plan.devices[device]->index;
    std::shared_ptr<Gpu>& gpu = gpus_[ordinal];
    if (gpu == nullptr) {
      auto opened = Gpu::Open(driver_, static_cast<int>(ordinal));
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
  std::vector<uint32_t> gpu_of_device_;  // per device of the plan
  std::map<uint32_t, std::shared_ptr<Gpu>> gpus_;
  std::unique_ptr<Backend> cpu_ = MakeCpuBackend();
};

}  // namespace
}  // namespace cgraph::cuda
