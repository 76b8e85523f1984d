#include "runtime/device/cuda/gpu/shared_memory.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "runtime/base/text.h"

namespace cgraph::cuda {

using device::ExportedMemory;
using device::Memory;
using device::MemoryKind;

// ---- host memory --------------------------------------------------------------------------------

Result<std::shared_ptr<PinnedSource>> PinnedSource::Make(
    std::shared_ptr<Gpu> gpu, std::shared_ptr<device::MemorySource> source) {
  const char* const what = "sharing memory with other processes";
  const Driver& driver = gpu->driver();
  CUdevice device = 0;
  int same = 0;
  CGRAPH_RETURN_IF_ERROR(gpu->Check(driver.cuDeviceGet(&device, gpu->ordinal()), what));
  CGRAPH_RETURN_IF_ERROR(
      gpu->Check(driver.cuDeviceGetAttribute(
                     &same, CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, device),
                 what));
  if (same == 0) {
    return Status(StatusCode::kUnsupported,
                  fmt::format("{} reaches memory of other processes by other addresses than they "
                              "do; run in one process, without --processes",
                              gpu->name()));
  }
  return std::shared_ptr<PinnedSource>(new PinnedSource(std::move(gpu), std::move(source)));
}

// What the driver has pinned must not be unmapped before. Behind a kernel that was abandoned it
// stays as it is, and with it all of the source.
PinnedSource::~PinnedSource() {
  if (gpu_->driver().abandoned()) {
    static_cast<void>(new std::shared_ptr<device::MemorySource>(source_));
    return;
  }
  gpu_->MakeCurrent();
  for (std::byte* data : registered_) gpu_->driver().cuMemHostUnregister(data);
}

Result<Memory> PinnedSource::Allocate(uint64_t bytes, MemoryKind kind, const std::string& what) {
  auto memory = source_->Allocate(bytes, kind, what);
  if (!memory.ok() || memory->size() == 0) return memory;
  CGRAPH_RETURN_IF_ERROR(Register(memory->data(), memory->size(), what));
  return memory;
}

Status PinnedSource::Register(std::byte* data, uint64_t bytes, const std::string& what) {
  CGRAPH_RETURN_IF_ERROR(gpu_->Check(gpu_->MakeCurrent(), what));
  const CUresult error = gpu_->driver().cuMemHostRegister(
      data, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
  if (error != CUDA_SUCCESS) {
    return Status(
        StatusCode::kInvalid,
        fmt::format("{} of memory that processes share, for {}, cannot be pinned for {}: "
                    "{}\nrun in one process, without --processes",
                    BytesText(bytes), what, gpu_->name(), gpu_->driver().ErrorText(error)));
  }
  std::lock_guard lock(mutex_);
  registered_.push_back(data);
  return Status::Ok();
}

// ---- memory of GPUs -----------------------------------------------------------------------------

namespace {

void CloseImported(const Driver& driver, std::byte* data) {
  driver.cuIpcCloseMemHandle(AddressOf(data));
}

Status Refused(const Gpu& gpu, const char* what, CUresult error) {
  return Status(StatusCode::kUnsupported,
                fmt::format("{} {}: {}", gpu.name(), what, gpu.driver().ErrorText(error)));
}

}  // namespace

Result<ExportedMemory> ExportFromGpu(const Gpu& gpu, const Memory& memory) {
  CUipcMemHandle handle;
  CUresult result = gpu.MakeCurrent();
  if (result == CUDA_SUCCESS) {
    result = gpu.driver().cuIpcGetMemHandle(&handle, AddressOf(memory.data()));
  }
  if (result != CUDA_SUCCESS) return Refused(gpu, "gives other processes no memory", result);
  ExportedMemory exported;
  static_assert(sizeof handle == sizeof exported.handle);
  std::memcpy(exported.handle.data(), &handle, sizeof handle);
  exported.bytes = memory.size();
  return exported;
}

Result<Memory> ImportToGpu(const std::shared_ptr<Gpu>& gpu, const ExportedMemory& exported) {
  CUipcMemHandle handle;
  std::memcpy(&handle, exported.handle.data(), sizeof handle);
  CUdeviceptr address = 0;
  CUresult result = gpu->MakeCurrent();
  if (result == CUDA_SUCCESS) {
    result = gpu->driver().cuIpcOpenMemHandle(&address, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  }
  if (result != CUDA_SUCCESS) {
    return Refused(*gpu, "does not reach memory of another process", result);
  }
  return Memory(reinterpret_cast<std::byte*>(address), exported.bytes, MemoryKind::shareable,
                /*host_visible=*/false, std::make_shared<GpuBlock>(gpu, CloseImported));
}

}  // namespace cgraph::cuda
