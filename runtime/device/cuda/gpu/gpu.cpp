#include "runtime/device/cuda/gpu/gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/base/text.h"
#include "runtime/device/cuda/module/module.h"

namespace cgraph::cuda {

using device::Memory;
using device::MemoryKind;

namespace {

// What to do where a GPU's memory is too small for a plan.
constexpr const char* kLessMemory =
    "compile for fewer executions in flight (--inflight), or by a schedule with a limit of memory "
    "(`memory <= 8GiB`), or put the device on another GPU (--device-map); `nvidia-smi` lists other "
    "programs";
// What to do where the host's memory is.
constexpr const char* kLessPinned =
    "compile for fewer executions in flight (--inflight), or end programs that hold this machine's "
    "memory";

void FreeOnGpu(const Driver& driver, std::byte* data) {
  driver.cuStreamSynchronize(nullptr);  // that filled it, if it was never used
  driver.cuMemFree(AddressOf(data));
}
void FreePinned(const Driver& driver, std::byte* data) { driver.cuMemFreeHost(data); }

}  // namespace

Status CheckComputeCapability(int ordinal, const std::string& model, int major, int minor) {
  constexpr int kFirstWithAll = 80;  // the first that has instructions for every dtype
  const int capability = 10 * major + minor, oldest = OldestCapability();
  if (capability >= oldest) return Status::Ok();
  const std::string build =
      capability < kFirstWithAll
          ? ""
          : fmt::format(", or build cgraph for this one (-DCGRAPH_CUDA_ARCHITECTURES={})",
                        capability);
  return {StatusCode::kNotFound,
          fmt::format("cuda:{} ({}) has compute capability {}.{}, and the oldest that the kernels "
                      "run on is {}.{}\n"
                      "use a newer GPU (`cgrun --devices` lists those of this machine, "
                      "--device-map chooses){}",
                      ordinal, model, major, minor, oldest / 10, oldest % 10, build)};
}

const char* MendOf(CUresult error) {
  if (error == CUDA_ERROR_OUT_OF_MEMORY) return kLessMemory;
  return "nothing runs on a GPU that has failed until the process ends; run again, and where it "
         "fails again look for `Xid` in `dmesg`, or let compute-sanitizer run cgrun --no-capture, "
         "which names the kernel";
}

Result<std::shared_ptr<Gpu>> Gpu::Open(const Driver& driver, int ordinal, std::string devices) {
  const char* const what = "making a context";
  std::shared_ptr<Gpu> gpu(new Gpu(driver, ordinal, std::move(devices)));
  int count = 0;
  CGRAPH_RETURN_IF_ERROR(gpu->Check(driver.cuDeviceGetCount(&count), what));
  if (ordinal < 0 || ordinal >= count) {
    return Status(StatusCode::kNotFound,
                  fmt::format("there is no cuda:{}; this machine has {} GPU{}", ordinal, count,
                              count == 1 ? "" : "s"));
  }
  char model[256] = {};
  int major = 0, minor = 0;
  CGRAPH_RETURN_IF_ERROR(gpu->Check(driver.cuDeviceGet(&gpu->device_, ordinal), what));
  CGRAPH_RETURN_IF_ERROR(
      gpu->Check(driver.cuDeviceGetName(model, sizeof model - 1, gpu->device_), what));
  const std::tuple<int*, CUdevice_attribute> attributes[] = {
      {&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
      {&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
      {&gpu->multiprocessors_, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT}};
  for (const auto& [value, attribute] : attributes) {
    CGRAPH_RETURN_IF_ERROR(
        gpu->Check(driver.cuDeviceGetAttribute(value, attribute, gpu->device_), what));
  }
  CGRAPH_RETURN_IF_ERROR(CheckComputeCapability(ordinal, model, major, minor));
  CGRAPH_RETURN_IF_ERROR(
      gpu->Check(driver.cuDevicePrimaryCtxRetain(&gpu->context_, gpu->device_), what));
  CGRAPH_RETURN_IF_ERROR(gpu->Check(gpu->MakeCurrent(), what));
  auto module = LoadKernels(driver, [gpu = gpu.get()](CUresult result, const std::string& loaded) {
    return gpu->Check(result, loaded);
  });
  if (!module.ok()) return module.status();
  gpu->module_ = std::move(*module);
  gpu->libraries_ = std::make_unique<OpenedLibraries>(driver, 10 * major + minor);
  gpu->handover_ = MakeHandover(*gpu);
  return gpu;
}

// What lies in the context goes before the context. Behind a kernel that was abandoned nothing
// goes: each of these calls could wait for that kernel for ever.
Gpu::~Gpu() {
  if (context_ == nullptr) return;
  if (driver_.abandoned()) {
    static_cast<void>(handover_.release());
    static_cast<void>(anchor_.release());
    static_cast<void>(libraries_.release());
    static_cast<void>(module_.release());
    return;
  }
  MakeCurrent();
  handover_.reset();
  anchor_.reset();
  libraries_.reset();
  module_.reset();
  driver_.cuDevicePrimaryCtxRelease(device_);
}

std::string Gpu::name() const {
  return devices_.empty() ? fmt::format("cuda:{}", ordinal_)
                          : fmt::format("{} (cuda:{})", devices_, ordinal_);
}

Status Gpu::Check(CUresult result, const std::string& what) const {
  if (result == CUDA_SUCCESS) return Status::Ok();
  return {StatusCode::kFailed, ErrorText(result, what, name())};
}

std::string Gpu::ErrorText(CUresult error, const std::string& what,
                           const std::string& where) const {
  return fmt::format("{} on {}: {}\n{}", what, where, driver_.ErrorText(error), MendOf(error));
}

// MakeCurrent() tries twice: teardown calls it and cannot report an error that passes.
CUresult Gpu::MakeCurrent() const {
  const CUresult result = driver_.cuCtxSetCurrent(context_);
  return result == CUDA_SUCCESS ? result : driver_.cuCtxSetCurrent(context_);
}

// The driver may return when the bytes are in a buffer of its own; the null stream is over when
// they have arrived.
Status Gpu::CopyToGpu(void* to, const void* from, uint64_t bytes) const {
  const std::string what = "copying";
  CGRAPH_RETURN_IF_ERROR(Check(MakeCurrent(), what));
  CGRAPH_RETURN_IF_ERROR(Check(driver_.cuMemcpyHtoD(AddressOf(to), from, bytes), what));
  return Check(driver_.cuStreamSynchronize(nullptr), what);
}

// The memset may return before it is done, and streams of ours would not wait for it.
Status Gpu::Zero(void* data, uint64_t bytes, const std::string& what) const {
  CGRAPH_RETURN_IF_ERROR(Check(driver_.cuMemsetD8(AddressOf(data), 0, bytes), what));
  return Check(driver_.cuStreamSynchronize(nullptr), what);
}

Result<const ClockAnchor*> Gpu::Anchor(CUstream stream) {
  if (anchor_ == nullptr) {
    CGRAPH_RETURN_IF_ERROR(Check(ClockAnchor::Make(driver_, stream, anchor_), "reading the clock"));
  }
  return anchor_.get();
}

// A GPU that does not reach another one is no error: values between the two go through the host.
// But NCCL's symmetric memory is for GPUs that all reach each other (AllocateForCollectives).
void Gpu::ReachPeer(Gpu& peer) {
  int can = 0;
  CUresult enabled = driver_.cuDeviceCanAccessPeer(&can, device_, peer.device_);
  if (enabled == CUDA_SUCCESS && can != 0) {
    enabled = MakeCurrent();
    if (enabled == CUDA_SUCCESS) enabled = driver_.cuCtxEnablePeerAccess(peer.context_, 0);
    if (enabled == CUDA_SUCCESS || enabled == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) {
      reached_.insert(peer.ordinal_);
      return;
    }
  }
  peer.reached_by_all_ = false;
}

// ---- memory -------------------------------------------------------------------------------------

Status MemoryAccount::CheckFree(uint64_t bytes, const std::string& what) const {
  CGRAPH_RETURN_IF_ERROR(gpu_.Check(gpu_.MakeCurrent(), what));
  size_t free = 0, total = 0;
  CGRAPH_RETURN_IF_ERROR(gpu_.Check(gpu_.driver().cuMemGetInfo(&free, &total), what));
  if (bytes <= free) return Status::Ok();
  return {StatusCode::kInvalid,
          fmt::format("{} would take {}, and {} has {} of {} free{}\n{}", what, BytesText(bytes),
                      gpu_.name(), BytesText(free), BytesText(total), TakenText(free, total),
                      kLessMemory)};
}

Status MemoryAccount::Refused(uint64_t bytes, const std::string& what, CUresult error) const {
  size_t free = 0, total = 0;
  const bool known = gpu_.driver().cuMemGetInfo(&free, &total) == CUDA_SUCCESS;
  return {StatusCode::kInvalid,
          fmt::format("{} would take {}, which {} refuses: {}{}\n{}", what, BytesText(bytes),
                      gpu_.name(), gpu_.driver().ErrorText(error),
                      known ? TakenText(free, total) : "", MendOf(error))};
}

void MemoryAccount::Add(const std::string& what, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  taken_[what] += bytes;
}

void MemoryAccount::Subtract(const std::string& what, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  taken_[what] -= bytes;
}

uint64_t MemoryAccount::FreeBytes() const {
  size_t free = 0, total = 0;
  const bool known = gpu_.MakeCurrent() == CUDA_SUCCESS &&
                     gpu_.driver().cuMemGetInfo(&free, &total) == CUDA_SUCCESS;
  return known ? free : 0;
}

// Returns "; taken so far: 1 GiB for the arenas of gpu[0], ...", the greatest first; what is not
// ours is the driver's and that of other programs.
std::string MemoryAccount::TakenText(uint64_t free, uint64_t total) const {
  std::vector<std::pair<uint64_t, std::string>> taken;
  uint64_t others = total - std::min(free, total);
  {
    std::lock_guard lock(mutex_);
    for (const auto& [what, bytes] : taken_) {
      others -= std::min(bytes, others);
      if (bytes != 0) taken.emplace_back(bytes, what);
    }
  }
  if (others != 0) taken.emplace_back(others, "the driver, its code and other programs");
  std::sort(taken.rbegin(), taken.rend());
  std::string text;
  for (const auto& [bytes, what] : taken) {
    text += fmt::format("{}{} for {}", text.empty() ? "; taken so far: " : ", ", BytesText(bytes),
                        what);
  }
  return text;
}

void GpuBlock::Free(std::byte* data, uint64_t bytes) {
  if (gpu_->driver().abandoned()) return;
  gpu_->MakeCurrent();
  release_(gpu_->driver(), data);
  if (!what_.empty()) gpu_->account().Subtract(what_, bytes);
}

Result<Memory> AllocateOnGpu(const std::shared_ptr<Gpu>& gpu, uint64_t bytes, MemoryKind kind,
                             const std::string& what) {
  const Driver& driver = gpu->driver();
  if (bytes == 0) return Memory(nullptr, 0, kind, /*host_visible=*/false, nullptr);
  CGRAPH_RETURN_IF_ERROR(gpu->account().CheckFree(bytes, what));
  const uint64_t size = InBlocks(bytes);
  CUdeviceptr address = 0;
  if (const CUresult error = driver.cuMemAlloc(&address, size); error != CUDA_SUCCESS) {
    return gpu->account().Refused(bytes, what, error);
  }
  // Counted and owned before it is zeroed: where that fails, the handle takes it back and off the
  // account.
  gpu->account().Add(what, size);
  Memory memory(reinterpret_cast<std::byte*>(address), size, kind, /*host_visible=*/false,
                std::make_shared<GpuBlock>(gpu, FreeOnGpu, what));
  CGRAPH_RETURN_IF_ERROR(gpu->Zero(memory.data(), size, what));
  return memory;
}

Result<Memory> AllocatePinned(const std::shared_ptr<Gpu>& gpu, uint64_t bytes, MemoryKind kind,
                              const std::string& what) {
  const Driver& driver = gpu->driver();
  if (bytes == 0) return Memory(nullptr, 0, kind, /*host_visible=*/true, nullptr);
  CGRAPH_RETURN_IF_ERROR(device::CheckFree(bytes, what));
  CGRAPH_RETURN_IF_ERROR(gpu->Check(gpu->MakeCurrent(), what));
  const uint64_t size = InBlocks(bytes);
  void* data = nullptr;
  const CUresult error = driver.cuMemHostAlloc(
      &data, size, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
  if (error != CUDA_SUCCESS) {
    return Status(StatusCode::kInvalid,
                  fmt::format("{} would take {} of pinned memory, which {} refuses: {}\n{}", what,
                              BytesText(bytes), gpu->name(), driver.ErrorText(error),
                              error == CUDA_ERROR_OUT_OF_MEMORY ? kLessPinned : MendOf(error)));
  }
  std::memset(data, 0, size);
  return Memory(static_cast<std::byte*>(data), size, kind, /*host_visible=*/true,
                std::make_shared<GpuBlock>(gpu, FreePinned));
}

}  // namespace cgraph::cuda
