// The CPU device: serves every logical device of a plan, `gpu[i]` too, in ordinary memory. All
// kinds of memory are the same here. A queue runs an operation inside the call that issues it,
// unless an earlier operation waits.
#include <cstring>
#include <new>

#include <fmt/format.h>

#include "runtime/device/backends.h"
#include "runtime/device/cpu/host_queue.h"
#include "runtime/device/kernel.h"
#include "runtime/plan/print.h"

namespace cgraph::device {
namespace {

class CpuQueue : public HostQueue {
 public:
  using HostQueue::HostQueue;

  bool Poll(std::vector<Report>& reports) override {
    const bool any = Drain();
    TakeReports(reports);
    return any;
  }

 private:
  void Appended() override { Drain(); }
  bool Drain() {
    bool any = false;
    while (RunHead() == Outcome::kDone) any = true;
    return any;
  }
};

// Reads into its output.
class UploadKernel : public Kernel {
 public:
  explicit UploadKernel(std::unique_ptr<Source> source) : source_(std::move(source)) {}

  bool Run(std::span<const Tensor>, std::span<const Tensor> outputs, void*,
           std::string& error) override try {
    Status status = source_->Read({outputs[0].as<uint8_t>(), outputs[0].bytes()});
    if (!status.ok()) error = status.message();
    return status.ok();
  } catch (const std::bad_alloc&) {
    error = "no memory left";
    return false;
  }

 private:
  std::unique_ptr<Source> source_;
};

class CpuDevice : public Device {
 public:
  explicit CpuDevice(std::shared_ptr<MemorySource> source)
      : Device({.immediate = true}), source_(std::move(source)) {}

  Result<Memory> Allocate(uint64_t bytes, MemoryKind kind, const std::string& what) override {
    if (source_ != nullptr) return source_->Allocate(bytes, kind, what);
    return Memory::Allocate(bytes, what, kind);
  }
  bool CanLend(const void* data) const override {
    return source_ == nullptr || source_->Contains(data);
  }
  Result<std::unique_ptr<Executable>> MakeKernel(const plan::Kernel& kernel,
                                                 std::span<const OperandType> inputs,
                                                 std::span<const OperandType> outputs) override {
    auto made = MakeCpuKernel(kernel, inputs, outputs);
    if (!made.ok()) return made.status();
    return std::unique_ptr<Executable>(std::move(*made));
  }
  Result<std::unique_ptr<Executable>> MakeUpload(std::unique_ptr<Source> source) override {
    return std::unique_ptr<Executable>(std::make_unique<UploadKernel>(std::move(source)));
  }
  Result<std::unique_ptr<Queue>> OpenQueue(const QueueOptions& options) override {
    auto scratch = Memory::Allocate(options.scratch, "a kernel's scratch");
    if (!scratch.ok()) return scratch.status();
    return std::unique_ptr<Queue>(std::make_unique<CpuQueue>(options, std::move(*scratch)));
  }

 private:
  Status Upload(std::byte* to, const void* from, uint64_t bytes) override {
    std::memcpy(to, from, bytes);
    return Status::Ok();
  }
  Status Download(void* to, const std::byte* from, uint64_t bytes) override {
    std::memcpy(to, from, bytes);
    return Status::Ok();
  }

  const std::shared_ptr<MemorySource> source_;  // null: the process
};

class CpuBackend : public Backend {
 public:
  explicit CpuBackend(std::shared_ptr<MemorySource> source) : source_(std::move(source)) {}

  std::string_view name() const override { return "cpu"; }
  Status Serves(const plan::Plan&, uint32_t) const override { return Status::Ok(); }
  Result<std::unique_ptr<Device>> Open(const plan::Plan&, uint32_t) override {
    return std::unique_ptr<Device>(std::make_unique<CpuDevice>(source_));
  }

 private:
  const std::shared_ptr<MemorySource> source_;
};

}  // namespace

std::unique_ptr<Backend> MakeCpuBackend(std::shared_ptr<MemorySource> source) {
  return std::make_unique<CpuBackend>(std::move(source));
}

}  // namespace cgraph::device
