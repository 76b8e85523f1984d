// AbsentGpu: stands for a GPU that another rank serves, of this machine or of another one.
//
// All ranks prepare the same steps for a work queue, since they speak of it by the numbers of its
// steps. What those are depends on what a device is like, so this one is like a GPU; it has no
// memory but the host's that all ranks of a machine share, and nothing is issued to it.
#include <memory>
#include <string>
#include <utility>

#include "runtime/device/device.h"
#include "runtime/load/peers/rank_view.h"

namespace cgraph::engine {
namespace {

using device::Device;
using device::Executable;
using device::Memory;
using device::MemoryKind;
using device::OperandType;
using device::Queue;

class AbsentGpu final : public Device {
 public:
  explicit AbsentGpu(std::shared_ptr<device::MemorySource> shared)
      : Device({.queues_host_waits = false,
                .queues_communicate = true,
                .host_reaches_memory = false}),
        shared_(std::move(shared)) {}

  // Its rank takes the same of what is shared; all else is its rank's alone.
  Result<Memory> Allocate(uint64_t bytes, MemoryKind kind, const std::string& what) override {
    if (shared_ == nullptr) return Absent();
    if (kind == MemoryKind::pinned) return shared_->Allocate(bytes, kind, what);
    return Memory(nullptr, 0, kind, /*host_visible=*/false, nullptr);
  }
  Result<std::unique_ptr<Executable>> MakeKernel(const plan::Kernel&, std::span<const OperandType>,
                                                 std::span<const OperandType>) override {
    return Absent();
  }
  Result<std::unique_ptr<Executable>> MakeUpload(std::unique_ptr<device::Source>) override {
    return Absent();
  }
  Result<std::unique_ptr<Queue>> OpenQueue(const device::QueueOptions&) override {
    return Absent();
  }
  bool Reaches(const Device&) const override { return false; }

 private:
  static Status Absent() {
    return Status(StatusCode::kInternal, "something was asked of a GPU of another rank");
  }
  Status Upload(std::byte*, const void*, uint64_t) override { return Absent(); }
  Status Download(void*, const std::byte*, uint64_t) override { return Absent(); }

  const std::shared_ptr<device::MemorySource> shared_;
};

}  // namespace

std::unique_ptr<device::Device> MakeAbsentGpu(std::shared_ptr<device::MemorySource> shared) {
  return std::make_unique<AbsentGpu>(std::move(shared));
}

}  // namespace cgraph::engine
