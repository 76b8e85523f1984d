#include <fmt/format.h>

#include "runtime/device/device.h"
#include "runtime/plan/print.h"

namespace cgraph::device {
namespace {

class CpuDevice : public Device {
 public:
  Result<Memory> Allocate(uint64_t bytes, const std::string& what) override {
    return Memory::Allocate(bytes, what);
  }
  Result<std::unique_ptr<Kernel>> MakeKernel(const plan::Kernel& kernel,
                                             std::span<const OperandType> inputs,
                                             std::span<const OperandType> outputs) override {
    return MakeCpuKernel(kernel, inputs, outputs);
  }
};

}  // namespace

Result<std::unique_ptr<Device>> OpenDevice(const plan::Plan& plan, uint32_t device) {
  if (plan.devices[device]->node != 0) {
    return Status(StatusCode::kUnsupported,
                  fmt::format("{} is on another machine; this engine runs on one",
                              plan::DeviceName(plan, device)));
  }
  return std::unique_ptr<Device>(std::make_unique<CpuDevice>());
}

}  // namespace cgraph::device
