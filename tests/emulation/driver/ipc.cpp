// CUDA IPC between processes on emulated devices: memory of a device that another process opens is
// one memory, as on a GPU (shared_memory.cpp).
#include <cuda.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstring>

#include "tests/emulation/driver/machine.h"
#include "tests/emulation/misuse.h"

using namespace cgraph::emulation;

namespace {

static_assert(sizeof(ExportedPages) <= sizeof(CUipcMemHandle));

// The flag of cuIpcOpenMemHandle lets the device of the current context reach the memory's device.
CUresult ReachDevice(const Machine& machine, int device) {
  CUcontext current = CurrentContext();
  if (device == current->device) return CUDA_SUCCESS;
  if (!machine.options.peers) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  current->peers |= SetOf(device);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  return Serve(calls::k_cuIpcGetMemHandle, [&](Machine& machine, Lock&) {
    const auto* start = reinterpret_cast<const void*>(address);
    const Allocation* const allocation = machine.memory.Find(start);
    const bool own = allocation != nullptr && allocation->kind == Allocation::Kind::kOwn;
    if (!own || allocation->freed || allocation->device == kHost || allocation->start != start) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (!machine.options.ipc) return CUDA_ERROR_NOT_SUPPORTED;
    const ExportedPages* const exported = machine.memory.Export(*allocation);
    if (exported == nullptr) return CUDA_ERROR_OPERATING_SYSTEM;
    *handle = {};
    std::memcpy(handle, exported, sizeof *exported);
    return CUDA_SUCCESS;
  });
}

CUresult cuIpcOpenMemHandle(CUdeviceptr* address, CUipcMemHandle handle, unsigned flags) {
  return Serve(calls::k_cuIpcOpenMemHandle, [&](Machine& machine, Lock&) {
    ExportedPages exported;
    std::memcpy(static_cast<void*>(&exported), &handle, sizeof exported);
    if (flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS || exported.bytes == 0 || exported.device < 0 ||
        exported.device >= machine.options.devices) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (exported.process == getpid()) {
      Misuse("a process opens memory that it has exported itself");
      return CUDA_ERROR_INVALID_CONTEXT;
    }
    const CUresult reached = ReachDevice(machine, exported.device);
    if (reached != CUDA_SUCCESS) return reached;
    const Allocation* const opened = machine.memory.Import(exported, CurrentContext()->device);
    if (opened == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *address = reinterpret_cast<CUdeviceptr>(opened->start);
    return CUDA_SUCCESS;
  });
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  return Serve(calls::k_cuIpcCloseMemHandle, [&](Machine& machine, Lock&) {
    auto* const start = reinterpret_cast<std::byte*>(address);
    const Allocation* const allocation = machine.memory.Find(start);
    if (allocation == nullptr || allocation->kind != Allocation::Kind::kImported ||
        allocation->freed || allocation->start != start) {
      Misuse(fmt::format("{:#x} is closed, where no memory of another process is open", address));
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (const CUresult idle = CheckIdle(machine, *allocation, "closed"); idle != CUDA_SUCCESS) {
      return idle;
    }
    machine.memory.CloseImported(*allocation);
    return CUDA_SUCCESS;
  });
}
