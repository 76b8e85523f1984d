// What libcgraph_cuda.so exports: C names, found with dlsym. runtime/device/cuda_library says what
// they do, and loads them.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARY_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARY_H_

#include "runtime/device/cuda_library/interface.h"

#define CGRAPH_CUDA_EXPORT extern "C" __attribute__((visibility("default")))

CGRAPH_CUDA_EXPORT cgraph::device::CudaAbiFunction cgraph_cuda_abi;
CGRAPH_CUDA_EXPORT cgraph::device::CudaReportFunction cgraph_cuda_report;
CGRAPH_CUDA_EXPORT cgraph::device::CudaLibrariesFunction cgraph_cuda_libraries;
CGRAPH_CUDA_EXPORT cgraph::device::CudaWarningsFunction cgraph_cuda_warnings;
CGRAPH_CUDA_EXPORT cgraph::device::CudaBackendFunction cgraph_cuda_backend;

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARY_H_
