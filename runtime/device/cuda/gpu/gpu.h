// Gpu: a physical GPU, its primary context, and the kernels that are loaded into it. The logical
// devices of a plan that are mapped to one GPU share it.
//
// Its memory is allocated here, too, with an account of what has taken it (MemoryAccount).
// handover.cpp has what the program's own use of the GPU needs.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_GPU_GPU_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_GPU_GPU_H_

#include <cstdint>
#include <functional>
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
Status CheckComputeCapability(int ordinal, const std::string& model, int major, int minor);

// Returns what to do about an error that the driver reports of a GPU.
const char* MendOf(CUresult error);

class Gpu;

// MemoryAccount: what has taken memory of a GPU, for the messages where there is not enough.
class MemoryAccount {
 public:
  explicit MemoryAccount(const Gpu& gpu) : gpu_(gpu) {}

  // kInvalid, with `what`, what has taken memory so far, and what to do, where the GPU has fewer
  // bytes free.
  Status CheckFree(uint64_t bytes, const std::string& what) const;
  // As CheckFree(), for an allocation that the driver refuses.
  Status Refused(uint64_t bytes, const std::string& what, CUresult error) const;
  // Returns how many bytes are free; 0 where the driver does not say.
  uint64_t FreeBytes() const;
  // Thread-safe.
  void Add(const std::string& what, uint64_t bytes);
  void Subtract(const std::string& what, uint64_t bytes);

 private:
  std::string TakenText(uint64_t free, uint64_t total) const;

  const Gpu& gpu_;
  mutable std::mutex mutex_;
  std::map<std::string, uint64_t> taken_;  // bytes, by what they are for
};

class Gpu : public std::enable_shared_from_this<Gpu> {
 public:
  // Opens GPU number `ordinal`. `devices`: those of a plan that are mapped to it, as "gpu[0],
  // gpu[1]". kNotFound when there is none, or it is too old; else as Check().
  static Result<std::shared_ptr<Gpu>> Open(const Driver& driver, int ordinal,
                                           std::string devices = "");
  ~Gpu();
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
  // Returns what streams of this GPU measure from. The first call makes it on `stream`, which must
  // be idle. One thread at a time may call it. kFailed with the driver's error.
  Result<const ClockAnchor*> Anchor(CUstream stream);
  // Lets this GPU reach the memory of `peer`, where the hardware allows it.
  void ReachPeer(Gpu& peer);
  // Returns whether kernels and copies of this GPU may read the memory of the other one.
  bool Reaches(const Gpu& other) const {
    return other.ordinal_ == ordinal_ || reached_.contains(other.ordinal_);
  }
  // Returns whether all GPUs that were to reach this one's memory do.
  bool reached_by_all() const { return reached_by_all_; }

  MemoryAccount& account() { return account_; }
  // Returns the GPU as the program uses it beside the engine.
  std::shared_ptr<device::SharedGpu> shared() {
    return {shared_from_this(), handover_.get()};
  }

 private:
  Gpu(const Driver& driver, int ordinal, std::string devices)
      : driver_(driver), ordinal_(ordinal), devices_(std::move(devices)) {}

  const Driver& driver_;
  const int ordinal_;
  const std::string devices_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  int multiprocessors_ = 0;
  std::set<int> reached_;  // other GPUs, by ordinal
  bool reached_by_all_ = true;
  MemoryAccount account_{*this};
  std::unique_ptr<device::SharedGpu> handover_;
  std::unique_ptr<ClockAnchor> anchor_;
  std::unique_ptr<KernelModule> module_;
  std::unique_ptr<OpenedLibraries> libraries_;
};

// Returns the GPU as the program uses it beside the engine; the GPU owns it.
std::unique_ptr<device::SharedGpu> MakeHandover(Gpu& gpu);

// GpuBlock: the owner of one block of memory that a GPU reaches. `release` gives the block back,
// with the GPU's context current. The block is kept where a kernel was abandoned (Driver::Abandon).
// `what`: in the GPU's account, of memory of the GPU.
class GpuBlock : public device::MemoryOwner {
 public:
  using Release = std::function<void(const Driver& driver, std::byte* data)>;
  GpuBlock(std::shared_ptr<Gpu> gpu, Release release, std::string what = "")
      : gpu_(std::move(gpu)), release_(std::move(release)), what_(std::move(what)) {}
  void Free(std::byte* data, uint64_t size) final;

 private:
  const std::shared_ptr<Gpu> gpu_;
  const Release release_;
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
