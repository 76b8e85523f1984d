// CudaDevice: a logical device of a plan on a GPU.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_CUDA_DEVICE_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_CUDA_DEVICE_H_

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/device/cuda/collectives/communicators.h"
#include "runtime/device/cuda/device/poison_table.h"
#include "runtime/device/cuda/gpu/gpu.h"
#include "runtime/device/cuda/gpu/shared_memory.h"
#include "runtime/device/device.h"

namespace cgraph::cuda {

class CudaQueue;

class CudaDevice : public device::Device,
                   public device::Communicators,
                   public device::SharedMemory,
                   public device::ForeignCode {
 public:
  // Where several processes serve a plan: what they share of host memory (else null), and what is
  // called when this device fails as a whole.
  struct Shared {
    std::shared_ptr<PinnedSource> memory;
    std::function<void(const Status&)> failed;
  };
  // `name`: the plan's, as gpu[0]. `communicators`: of all devices of the engine. kUnsupported when
  // the kernels of this library lack one that every device needs.
  static Result<std::unique_ptr<CudaDevice>> Make(std::string name, std::shared_ptr<Gpu> gpu,
                                                  std::shared_ptr<NcclCommunicators> communicators,
                                                  Shared shared);
  ~CudaDevice() override;

  Result<device::Memory> Allocate(uint64_t bytes, device::MemoryKind kind,
                                  const std::string& what) override;
  Result<device::ExportedMemory> Export(const device::Memory& memory) override {
    return ExportFromGpu(*gpu_, memory);
  }
  Result<device::Memory> Import(const device::ExportedMemory& exported) override {
    return ImportToGpu(gpu_, exported);
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
  // A GPU's queues read what the driver has pinned; the host's devices know (host_device.h).
  bool CanLend(const void*) const override { return false; }
  device::Communicators* communicators() override { return this; }
  device::SharedMemory* shared_memory() override { return this; }
  device::ForeignCode* foreign_code() override { return this; }
  std::shared_ptr<device::SharedGpu> shared_gpu() const override { return gpu_->shared(); }
  Status Failure() const override;

  const std::shared_ptr<Gpu>& gpu() const { return gpu_; }
  // Called when a queue breaks, before it makes signals in place of those that do not come.
  void SetFailure(const std::string& why);
  // Returns "gpu[0] (cuda:1)".
  std::string name() const;
  // Returns what is said when the driver reports an error of the GPU as a whole, and what to do.
  std::string FailureText(CUresult error) const;
  // As those of Gpu, by this device's name alone.
  Status Check(CUresult result, const std::string& what) const;
  std::string ErrorText(CUresult error, const std::string& what) const;
  uint64_t most_scratch() const { return most_scratch_; }
  bool calls_code() const { return calls_code_; }  // of others (MakeQueueCode)
  uint64_t most_failures() const;  // of its operations, at once
  uint32_t graphs() const { return static_cast<uint32_t>(graphs_.size()); }
  uint32_t steps(uint32_t graph) const { return graphs_[graph].steps; }
  const PoisonTable& table(uint32_t graph) const { return *graphs_[graph].poison; }

  // Appends a copy between any memories that this GPU reaches, of as many elements as `sized` has,
  // of `width` bytes each. Nothing is written where the guard finds poison.
  CUresult Copy(CUstream stream, const Guard& guard, void* to, const void* from, const View& sized,
                uint32_t width);

  // Appends a grid that does nothing but look at its guard.
  CUresult PassPoison(CUstream stream, const Guard& guard);
  // Append grids that write to a byte of this GPU's memory whether something is poisoned that a
  // guard checks, and that set the guard's own flag where the byte says so.
  CUresult ShowPoison(CUstream stream, const Guard& guard, void* shown);
  CUresult TakePoison(CUstream stream, const Guard& guard, const void* shown);

  // Of the queues of this device, for the watcher: a thread that looks at them while something is
  // pending, so that who sleeps until a signal comes is woken.
  void Add(CudaQueue* queue);
  void Remove(CudaQueue* queue);
  void Wake() { pending_.Notify(); }

 private:
  struct Graph {
    std::unique_ptr<PoisonTable> poison;
    uint32_t steps = 0;  // most of any program
  };
  CudaDevice(std::string name, std::shared_ptr<Gpu> gpu,
             std::shared_ptr<NcclCommunicators> communicators, Shared shared)
      : Device({.queues_host_waits = false,
                .queues_communicate = true,
                .host_reaches_memory = false,
                .queues_record = true}),
        logical_name_(std::move(name)),
        gpu_(std::move(gpu)),
        communicators_(std::move(communicators)),
        shared_(std::move(shared)) {}

  Status Upload(std::byte* to, const void* from, uint64_t bytes) override;
  Status Download(void* to, const std::byte* from, uint64_t bytes) override;
  void RunWatcher();
  bool WatchAll();

  const std::string logical_name_;
  std::atomic<bool> failed_{false};
  mutable std::mutex failure_mutex_;
  Status failure_;  // the first; under failure_mutex_
  std::shared_ptr<Gpu> gpu_;
  std::shared_ptr<NcclCommunicators> communicators_;
  const Shared shared_;
  CUfunction pass_poison_ = nullptr;
  CUfunction show_poison_ = nullptr;
  CUfunction take_poison_ = nullptr;
  CUfunction copy_guarded_ = nullptr;
  uint64_t most_scratch_ = 0;
  bool calls_code_ = false;
  std::vector<Graph> graphs_;

  std::mutex queues_mutex_;
  std::vector<CudaQueue*> queues_;
  EventCount pending_;
  std::atomic<bool> ended_{false};
  std::thread watcher_;
};

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_CUDA_DEVICE_H_
