// The driver's functions of devices and contexts. Every device has its primary context alone.
#include <cuda.h>

#include <cstdio>

#include "tests/emulation/driver/faults.h"
#include "tests/emulation/driver/machine.h"
#include "tests/emulation/misuse.h"

using namespace cgraph::emulation;

namespace {

constexpr int kVersion = 13000;

bool IsDevice(const Machine& machine, CUdevice device) {
  return device >= 0 && device < machine.options.devices;
}

// An H100's, except that it is small.
int Attribute(const Options& options, CUdevice_attribute attribute, CUdevice device) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
      return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
      return 64;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
      return 2147483647;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
      return 65535;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
      return 48 << 10;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      return 227 << 10;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      return 228 << 10;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      return 2048;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      return 32;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return 4;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      return 1 << 20;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
      return 1000000;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
      return 512;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
      return 2;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return device < options.old ? 7 : 9;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return device < options.old ? 5 : 0;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
      return device + 1;
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
      return 1;
    case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS:
      return options.memops ? 1 : 0;
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
      return options.registered ? 1 : 0;
    default:
      return 0;
  }
}

void FreeContext(Machine& machine, CUctx_st& context) {
  for (CUstream stream : machine.scheduler.streams()) {
    if (stream->context == &context && !Scheduler::Idle(*stream)) {
      Misuse("a context is destroyed while its streams have work to do");
      return;
    }
  }
  machine.memory.FreeAll(context.device);
  const auto destroy = [&](auto& handles) {
    const auto live = handles.live();
    for (auto* object : live) {
      if (object->context == &context) handles.Destroy(object);
    }
  };
  const auto streams = machine.streams.live();
  for (CUstream stream : streams) {
    if (stream->context == &context) machine.scheduler.Remove(stream);
  }
  destroy(machine.streams);
  destroy(machine.events);
  destroy(machine.modules);
  destroy(machine.functions);
  destroy(machine.execs);
  context.peers = 0;
}

}  // namespace

CUresult cuInit(unsigned flags) {
  return Serve(calls::k_cuInit, [&](Machine& machine, Lock&) {
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (machine.options.devices == 0) return CUDA_ERROR_NO_DEVICE;
    machine.initialised = true;
    return CUDA_SUCCESS;
  });
}

CUresult cuDriverGetVersion(int* version) {
  return Serve(calls::k_cuDriverGetVersion, [&](Machine&, Lock&) {
    *version = kVersion;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetCount(int* count) {
  return Serve(calls::k_cuDeviceGetCount, [&](Machine& machine, Lock&) {
    *count = machine.options.devices;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return Serve(calls::k_cuDeviceGet, [&](Machine& machine, Lock&) {
    if (!IsDevice(machine, ordinal)) return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return Serve(calls::k_cuDeviceGetName, [&](Machine& machine, Lock&) {
    if (!IsDevice(machine, device)) return CUDA_ERROR_INVALID_DEVICE;
    std::snprintf(name, static_cast<size_t>(length), "Emulated GPU");
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return Serve(calls::k_cuDeviceGetAttribute, [&](Machine& machine, Lock&) {
    if (!IsDevice(machine, device)) return CUDA_ERROR_INVALID_DEVICE;
    if (attribute <= 0 || attribute >= CU_DEVICE_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
    *value = Attribute(machine.options, attribute, device);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  return Serve(calls::k_cuDeviceTotalMem, [&](Machine& machine, Lock&) {
    if (!IsDevice(machine, device)) return CUDA_ERROR_INVALID_DEVICE;
    *bytes = machine.options.memory;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return Serve(calls::k_cuDeviceCanAccessPeer, [&](Machine& machine, Lock&) {
    if (!IsDevice(machine, device) || !IsDevice(machine, peer)) return CUDA_ERROR_INVALID_DEVICE;
    *can = machine.options.peers && device != peer ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return Serve(calls::k_cuDevicePrimaryCtxRetain, [&](Machine& machine, Lock&) {
    if (!IsDevice(machine, device)) return CUDA_ERROR_INVALID_DEVICE;
    CUctx_st& primary = machine.contexts[static_cast<size_t>(device)];
    if (primary.retained++ == 0) {
      ExplainFaults(machine);
      primary.default_stream = machine.streams.Make();
      primary.default_stream->context = &primary;
      machine.scheduler.Add(primary.default_stream);
    }
    *context = &primary;
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return Serve(calls::k_cuDevicePrimaryCtxRelease, [&](Machine& machine, Lock&) {
    if (!IsDevice(machine, device)) return CUDA_ERROR_INVALID_DEVICE;
    CUctx_st& primary = machine.contexts[static_cast<size_t>(device)];
    if (primary.retained == 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (--primary.retained == 0) FreeContext(machine, primary);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSetCurrent(CUcontext context) {
  return Serve(calls::k_cuCtxSetCurrent, [&](Machine&, Lock&) {
    if (context != nullptr && context->retained == 0) return CUDA_ERROR_INVALID_CONTEXT;
    CurrentContext() = context;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  return Serve(calls::k_cuCtxGetCurrent, [&](Machine&, Lock&) {
    *context = CurrentContext();
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  return Serve(calls::k_cuCtxEnablePeerAccess, [&](Machine& machine, Lock&) {
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (peer == nullptr || peer->retained == 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (peer == CurrentContext() || !machine.options.peers) {
      return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    }
    if ((CurrentContext()->peers & SetOf(peer->device)) != 0) {
      return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    }
    CurrentContext()->peers |= SetOf(peer->device);
    return CUDA_SUCCESS;
  });
}
