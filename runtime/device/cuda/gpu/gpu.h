// Gpu: a physical GPU, its primary context, and the kernels that are loaded into it. The logical
// devices of a plan that are mapped to one GPU share it.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_GPU_GPU_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_GPU_GPU_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/device/cuda/driver/driver.h"
#include "runtime/device/cuda/gpu/clock_anchor.h"
#include "runtime/device/cuda/kernels/executable.h"
#include "runtime/device/cuda/libraries/libraries.h"
#include "runtime/device/memory.h"
#include "runtime/device/shared_gpu.h"

namespace cgraph::cuda {

// Ok where the kernels of this build run on GPUs of this compute capability; else kNotFound, with
// the oldest one on which they do, and what to do.
Status CheckAge(int ordinal, const std::string& model, int major, int minor);

// Returns what to do about an error of the driver that is about a GPU.
const char* MendOf(CUresult error);

class Gpu : public device::SharedGpu, public std::enable_shared_from_this<Gpu> {
 public:
  // Opens GPU number `ordinal`, which is those devices of a plan: "gpu[0], gpu[1]". kNotFound when
  // there is none, or it is too old; else as Check().
  static Result<std::shared_ptr<Gpu>> Open(const Driver& driver, int ordinal,
                                           std::string devices = "");
  ~Gpu() override;
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const Driver& driver() const { return driver_; }
  int ordinal() const { return ordinal_; }
  // Returns "gpu[0], gpu[1] (cuda:0)".
  std::string name() const;
  Target target() { return {&driver_, module_.get(), multiprocessors_, libraries_.get()}; }
  const KernelModule& module() const { return *module_; }

  // Makes this GPU's context the calling thread's. Most calls of the driver need that.
  CUresult MakeCurrent() const;
  // Returns Ok for CUDA_SUCCESS; else kFailed with ErrorText(), by name().
  Status Check(CUresult result, const std::string& what) const;
  // Returns "opening a queue on gpu[0] (cuda:0): CUDA_ERROR_...", and on a second line what to do.
  std::string ErrorText(CUresult error, const std::string& what, const std::string& where) const;
  // Copies from the host's memory; done when it returns.
  Status CopyToGpu(void* to, const void* from, uint64_t bytes) const;
  // Zeroes memory of this GPU; done when it returns.
  Status Zero(void* data, uint64_t bytes, const std::string& what) const;
  // kInvalid, with `what`, what has taken memory so far, and what to do, where this GPU has fewer
  // bytes free.
  Status CheckFree(uint64_t bytes, const std::string& what) const;
  // As CheckFree(), for an allocation that the driver refuses.
  Status Refused(uint64_t bytes, const std::string& what, CUresult error) const;
  // Keep the account of what has taken memory, for CheckFree(). Thread-safe.
  void AddTaken(const std::string& what, uint64_t bytes);
  void SubtractTaken(const std::string& what, uint64_t bytes);
  // Returns how many bytes are free; 0 where the driver does not say.
  uint64_t FreeBytes() const;
  // Returns what streams of this GPU measure from; makes it on this one, an idle one, the first
  // time. One thread at a time may call it. kFailed with the driver's error.
  Result<const ClockAnchor*> Anchor(CUstream stream);
  // Lets this GPU reach the memory of `peer`, where the hardware allows it.
  void ReachPeer(Gpu& peer);
  // Returns whether kernels and copies of this GPU may read the memory of the other one.
  bool Reaches(const Gpu& other) const {
    return other.ordinal_ == ordinal_ || reached_.contains(other.ordinal_);
  }
  // Returns whether all GPUs that were to reach this one's memory do.
  bool reached_by_all() const { return reached_by_all_; }

  // handover.cpp
  uint32_t number() const override { return static_cast<uint32_t>(ordinal_); }
  Result<void*> HandoverStream() override;
  Status AwaitHandover() override;
  bool Reads(const void* data) const override;
  Status Fetch(void* to, const void* from, uint64_t bytes) override;
  std::unique_ptr<device::Fence> MakeFence(void* stream) override;

 private:
  Gpu(const Driver& driver, int ordinal, std::string devices)
      : driver_(driver), ordinal_(ordinal), devices_(std::move(devices)) {}
  std::string TakenText(uint64_t free, uint64_t total) const;

  const Driver& driver_;
  const int ordinal_;
  const std::string devices_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  int multiprocessors_ = 0;
  std::set<int> reached_;  // other GPUs, by ordinal
  bool reached_by_all_ = true;
  mutable std::mutex taken_mutex_;
  std::map<std::string, uint64_t> taken_;  // bytes, by what they are for
  std::mutex handover_mutex_;
  CUstream handover_ = nullptr;  // made once; under handover_mutex_
  std::unique_ptr<ClockAnchor> anchor_;
  std::unique_ptr<KernelModule> module_;
  std::unique_ptr<OpenedLibraries> libraries_;
};

// GpuBlock: the owner of one block of memory that a GPU reaches. The block is kept where a kernel
// was abandoned (Driver::Abandon). `what`: in the GPU's account, of memory of the GPU.
class GpuBlock : public device::MemoryOwner {
 public:
  explicit GpuBlock(std::shared_ptr<Gpu> gpu, std::string what = "")
      : gpu_(std::move(gpu)), what_(std::move(what)) {}
  void Free(std::byte* data, uint64_t size) final;

 protected:
  Gpu& gpu() const { return *gpu_; }

 private:
  virtual void Release(std::byte* data) = 0;  // the GPU's context is current

  std::shared_ptr<Gpu> gpu_;
  const std::string what_;
};

// Allocate memory that goes back with its last handle. kInvalid, with `what`, when there is not
// enough. Device memory is the GPU's alone; host memory is pinned, and every GPU of the process
// reaches it. Both are zeroed.
Result<device::Memory> AllocateOnGpu(const std::shared_ptr<Gpu>& gpu, uint64_t bytes,
                                     device::MemoryKind kind, const std::string& what);
Result<device::Memory> AllocatePinned(const std::shared_ptr<Gpu>& gpu, uint64_t bytes,
                                      device::MemoryKind kind, const std::string& what);

// Returns how many bytes are allocated for so many.
inline uint64_t InBlocks(uint64_t bytes) {
  return (bytes + device::kBlockAlign - 1) / device::kBlockAlign * device::kBlockAlign;
}

inline CUdeviceptr AddressOf(const void* data) { return reinterpret_cast<CUdeviceptr>(data); }

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_GPU_GPU_H_
