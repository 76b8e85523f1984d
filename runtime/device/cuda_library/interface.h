// The functions that libcgraph_cuda.so exports. They pass C++ objects, so the library and the
// program that loads it must be of one build, which the first function is for.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARY_INTERFACE_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARY_INTERFACE_H_

#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/backends.h"
#include "runtime/device/gpus.h"

namespace cgraph::device {

// `cgraph_cuda_abi`: returns InterfaceText() as it was when the library was built.
using CudaAbiFunction = const char*();

// `cgraph_cuda_report`: fills a report. Throws nothing but std::bad_alloc.
using CudaReportFunction = void(GpuReport& report);

// `cgraph_cuda_libraries`: fills a list of CUDA's libraries, all of which it opens. Throws nothing
// but std::bad_alloc.
using CudaLibrariesFunction = void(std::vector<GpuLibrary>& libraries);

// `cgraph_cuda_warnings`: returns what libraries of CUDA's that are there did not do, a sentence
// about each, which is returned once. Throws nothing but std::bad_alloc.
using CudaWarningsFunction = void(std::vector<std::string>& warnings);

// `cgraph_cuda_backend`: returns a new backend that serves the devices of an assignment, which the
// caller deletes. Null where there can be none, with the reason in `error`: kNotFound when
// something must be installed, kUnsupported when this GPU cannot do it. Throws nothing but
// std::bad_alloc.
using CudaBackendFunction = Backend*(const Assignment& assignment, Status& error);

// Returns what must be equal: "cgraph 0.1.0, plan format 3, interfaces 0123456789abcdef".
const char* InterfaceText();

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARY_INTERFACE_H_
