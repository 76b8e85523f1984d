// The functions that libcgraph_cuda.so exports. They pass C++ objects, so the library and the
// program that loads it must be of one build, which the first function is for.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARY_INTERFACE_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARY_INTERFACE_H_

#include <cstdint>
#include <map>

#include "runtime/device/backends.h"
#include "runtime/status/status.h"

namespace cgraph::device {

// GpuMap: which GPU of this machine each logical gpu of a plan is. The key is the number of the
// plan's device, the value that of the GPU as the driver counts. Several may be one GPU.
using GpuMap = std::map<uint32_t, uint32_t>;

// `cgraph_cuda_abi`: returns InterfaceText() as it was when the library was built.
using CudaAbiFunction = const char*();

// `cgraph_cuda_backend`: returns a new backend that serves the devices of `gpus`, which the caller
// deletes; null where there can be none, with the reason in `error`: kNotFound when something must
// be installed, kUnsupported when this GPU cannot do it. Throws nothing but std::bad_alloc.
using CudaBackendFunction = Backend*(const GpuMap& gpus, Status& error);

// Returns what must be equal: "cgraph 0.1.0, plan format 3, interfaces 0123456789abcdef".
const char* InterfaceText();

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARY_INTERFACE_H_
