// The driver's functions that allocate memory, ask about it, copy it and fill it.
//
// What the driver documents about host memory is kept to the letter: a copy from pageable memory
// returns when the bytes are staged, before they arrive; one to pageable memory returns when it is
// done; a fill of device memory returns before it is done, in the functions without a stream, too.
#include <cuda.h>
#include <fmt/format.h>

#include <algorithm>

#include "tests/emulation/driver/machine.h"
#include "tests/emulation/misuse.h"

using namespace cgraph::emulation;

namespace {

std::byte* At(CUdeviceptr address) { return reinterpret_cast<std::byte*>(address); }

bool Touches(const Work& work, const Allocation& allocation) {
  const auto inside = [&](const void* address) {
    return address >= allocation.start && address < allocation.start + allocation.bytes;
  };
  if (const auto* graph = std::get_if<RunGraph>(&work.what)) {
    const GraphNodes& nodes = graph->run->exec->nodes;
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](const GraphNode& node) { return Touches(node.work, allocation); });
  }
  const auto ranges = RangesOf(work);
  const auto addresses = AddressesOf(work);
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const Range& range) { return inside(range.start); }) ||
         std::any_of(addresses.begin(), addresses.end(), inside);
}

CUresult FreeMemory(Machine& machine, Lock& lock, std::byte* start, bool pinned) {
  const Allocation* const allocation = machine.memory.Find(start);
  if (allocation == nullptr || allocation->start != start ||
      allocation->kind != Allocation::Kind::kOwn || (allocation->device == kHost) != pinned) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (allocation->freed) {
    Misuse(fmt::format("the memory at {} is freed a second time", static_cast<void*>(start)));
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (const CUresult idle = CheckIdle(machine, *allocation, "freed"); idle != CUDA_SUCCESS) {
    return idle;
  }
  if (const int opener = Memory::OpenerOf(*allocation); opener != 0) {
    Misuse(fmt::format("the memory at {} is freed while process {} has it open",
                       static_cast<void*>(start), opener));
    return CUDA_ERROR_INVALID_VALUE;
  }
  const CUresult drained = Drain(machine, lock, CurrentContext());
  if (drained == CUDA_SUCCESS) machine.memory.Free(*allocation);
  return drained;
}

// Waits for the copy only where host memory is that the driver does not copy behind the caller's
// back. `waits`: or where pinned memory is.
CUresult CopyNow(Machine& machine, Lock& lock, CUstream stream, CUdeviceptr to, CUdeviceptr from,
                 size_t bytes, bool waits) {
  if (bytes == 0) return CUDA_SUCCESS;
  Copy copy{{At(to), bytes}, At(from), {}};
  const bool pageable_to = machine.memory.Find(At(to)) == nullptr;
  const bool pageable_from = machine.memory.Find(At(from)) == nullptr;
  if ((pageable_to || pageable_from) && machine.steady && !machine.options.pageable) {
    Misuse(fmt::format("{} bytes of pageable memory are copied in the steady state", bytes));
  }
  if (stream->capture.capture != nullptr) return Issue(machine, stream, {std::move(copy)});
  if (pageable_from) {
    copy.from = nullptr;
    copy.staged.assign(At(from), At(from) + bytes);
  }
  const CUresult issued = Issue(machine, stream, {std::move(copy)});
  if (issued != CUDA_SUCCESS || !(pageable_to || (waits && !pageable_from))) return issued;
  return WaitForStream(machine, lock, stream);
}

bool IsDeviceMemory(const Machine& machine, CUdeviceptr address) {
  const Allocation* const allocation = machine.memory.Find(At(address));
  return allocation != nullptr && allocation->device != kHost;
}

CUresult FillNow(Machine& machine, CUstream stream, CUdeviceptr to, uint8_t value, size_t bytes) {
  if (bytes == 0) return CUDA_SUCCESS;
  if (machine.memory.Find(At(to)) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Issue(machine, stream, {Fill{{At(to), bytes}, value}});
}

bool IsOf(const Machine& machine, CUdeviceptr address, CUcontext context) {
  const Allocation* const allocation = machine.memory.Find(At(address));
  return context != nullptr && allocation != nullptr && allocation->device == context->device;
}

}  // namespace

CUresult cgraph::emulation::CheckIdle(const Machine& machine, const Allocation& allocation,
                                      const char* freed) {
  for (const CUstream_st* stream : machine.scheduler.streams()) {
    for (const Work& work : stream->works) {
      if (!Touches(work, allocation)) continue;
      Misuse(fmt::format("the memory at {} is {} while {} that works on it is not done",
                         static_cast<void*>(allocation.start), freed, NameOf(work)));
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return CUDA_SUCCESS;
}

CUresult cuMemGetInfo(size_t* free, size_t* total) {
  return Serve(calls::k_cuMemGetInfo, [&](Machine& machine, Lock&) {
    *total = machine.options.memory;
    *free = machine.options.memory - machine.memory.used(CurrentContext()->device);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAlloc(CUdeviceptr* address, size_t bytes) {
  return Serve(calls::k_cuMemAlloc, [&](Machine& machine, Lock&) {
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    const Allocation* const made = machine.memory.Allocate(CurrentContext()->device, bytes);
    if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    *address = reinterpret_cast<CUdeviceptr>(made->start);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemFree(CUdeviceptr address) {
  return Serve(calls::k_cuMemFree, [&](Machine& machine, Lock& lock) {
    if (address == 0) return CUDA_SUCCESS;
    return FreeMemory(machine, lock, At(address), false);
  });
}

CUresult cuMemHostAlloc(void** address, size_t bytes, unsigned flags) {
  return Serve(calls::k_cuMemHostAlloc, [&](Machine& machine, Lock&) {
    constexpr unsigned kFlags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP |
                                CU_MEMHOSTALLOC_WRITECOMBINED;
    if (bytes == 0 || (flags & ~kFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
    const Allocation* const made = machine.memory.Allocate(kHost, bytes);
    if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    *address = made->start;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemFreeHost(void* address) {
  return Serve(calls::k_cuMemFreeHost, [&](Machine& machine, Lock& lock) {
    return FreeMemory(machine, lock, static_cast<std::byte*>(address), true);
  });
}

CUresult cuMemHostRegister(void* start, size_t bytes, unsigned flags) {
  return Serve(calls::k_cuMemHostRegister, [&](Machine& machine, Lock&) {
    constexpr unsigned kFlags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;
    if (bytes == 0 || (flags & ~kFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
    const bool done = machine.memory.Register(static_cast<std::byte*>(start), bytes) != nullptr;
    return done ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  });
}

CUresult cuMemHostUnregister(void* start) {
  return Serve(calls::k_cuMemHostUnregister, [&](Machine& machine, Lock& lock) {
    const Allocation* const allocation = machine.memory.Find(start);
    if (allocation == nullptr || allocation->start != start ||
        allocation->kind != Allocation::Kind::kRegistered) {
      Misuse(fmt::format("{} is unregistered, where nothing is registered", start));
      return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    }
    if (const CUresult idle = CheckIdle(machine, *allocation, "unregistered");
        idle != CUDA_SUCCESS) {
      return idle;
    }
    const CUresult drained = Drain(machine, lock, CurrentContext());
    if (drained == CUDA_SUCCESS) machine.memory.Unregister(*allocation);
    return drained;
  });
}

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
  return Serve(calls::k_cuPointerGetAttribute, [&](Machine& machine, Lock&) {
    const Allocation* const allocation = machine.memory.Find(At(address));
    if (allocation == nullptr || allocation->freed) return CUDA_ERROR_INVALID_VALUE;
    const bool pinned = allocation->device == kHost;
    switch (attribute) {
      case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *static_cast<CUmemorytype*>(data) = pinned ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        return CUDA_SUCCESS;
      case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *static_cast<int*>(data) = pinned ? 0 : allocation->device;
        return CUDA_SUCCESS;
      case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *static_cast<CUdeviceptr*>(data) = address;
        return CUDA_SUCCESS;
      case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (!pinned) return CUDA_ERROR_INVALID_VALUE;
        *static_cast<void**>(data) = At(address);
        return CUDA_SUCCESS;
      case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *static_cast<bool*>(data) = false;
        return CUDA_SUCCESS;
      case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *static_cast<unsigned long long*>(data) = allocation->id;
        return CUDA_SUCCESS;
      case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *static_cast<void**>(data) = allocation->start;
        return CUDA_SUCCESS;
      case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *static_cast<size_t*>(data) = allocation->bytes;
        return CUDA_SUCCESS;
      default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
  });
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
  return Serve(calls::k_cuMemcpyHtoD, [&](Machine& machine, Lock& lock) {
    if (bytes != 0 && !IsDeviceMemory(machine, to)) return CUDA_ERROR_INVALID_VALUE;
    return CopyNow(machine, lock, CurrentContext()->default_stream, to,
                   reinterpret_cast<CUdeviceptr>(from), bytes, true);
  });
}

CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) {
  return Serve(calls::k_cuMemcpyDtoH, [&](Machine& machine, Lock& lock) {
    if (bytes != 0 && !IsDeviceMemory(machine, from)) return CUDA_ERROR_INVALID_VALUE;
    return CopyNow(machine, lock, CurrentContext()->default_stream,
                   reinterpret_cast<CUdeviceptr>(to), from, bytes, true);
  });
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream handle) {
  return Serve(calls::k_cuMemcpyAsync, [&](Machine& machine, Lock& lock) {
    CUstream stream;
    const CUresult found = FindStream(machine, handle, stream);
    if (found != CUDA_SUCCESS) return found;
    return CopyNow(machine, lock, stream, to, from, bytes, false);
  });
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                           CUcontext from_context, size_t bytes, CUstream handle) {
  return Serve(calls::k_cuMemcpyPeerAsync, [&](Machine& machine, Lock& lock) {
    CUstream stream;
    const CUresult found = FindStream(machine, handle, stream);
    if (found != CUDA_SUCCESS || bytes == 0) return found;
    if (!IsOf(machine, to, to_context) || !IsOf(machine, from, from_context)) {
      Misuse("a copy between devices is given memory that is not of the devices it names");
      return CUDA_ERROR_INVALID_VALUE;
    }
    return CopyNow(machine, lock, stream, to, from, bytes, false);
  });
}

CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t bytes) {
  return Serve(calls::k_cuMemsetD8, [&](Machine& machine, Lock& lock) {
    CUstream stream = CurrentContext()->default_stream;
    const CUresult issued = FillNow(machine, stream, to, value, bytes);
    if (issued != CUDA_SUCCESS || bytes == 0 || IsDeviceMemory(machine, to)) return issued;
    return WaitForStream(machine, lock, stream);
  });
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream handle) {
  return Serve(calls::k_cuMemsetD8Async, [&](Machine& machine, Lock&) {
    CUstream stream;
    const CUresult found = FindStream(machine, handle, stream);
    if (found != CUDA_SUCCESS) return found;
    return FillNow(machine, stream, to, value, bytes);
  });
}
