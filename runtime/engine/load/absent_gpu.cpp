#include "runtime/engine/load/absent_gpu.h"

#include <string>

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
  Result<Memory> Allocate(uint64_t, MemoryKind, const std::string&) override { return Absent(); }
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
  bool queues_host_waits() const override { return false; }
  bool queues_communicate() const override { return true; }
  bool Reaches(const Device&) const override { return false; }

 private:
  static Status Absent() {
    return Status(StatusCode::kInternal, "something was asked of a GPU of another machine");
  }
  Status Upload(std::byte*, const void*, uint64_t) override { return Absent(); }
  Status Download(void*, const std::byte*, uint64_t) override { return Absent(); }
};

}  // namespace

std::unique_ptr<device::Device> MakeAbsentGpu() { return std::make_unique<AbsentGpu>(); }

}  // namespace cgraph::engine
