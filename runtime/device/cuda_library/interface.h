// The functions that libcgraph_cuda.so exports. They pass C++ objects, so the library and the
// program that loads it must be of one build, which the first function is for.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARY_INTERFACE_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARY_INTERFACE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/backends.h"

namespace cgraph::device {

// GpuMap: which GPU of this machine each logical gpu of a plan is. The key is the number of the
// plan's device, the value that of the GPU as the driver counts. Several may be one GPU.
using GpuMap = std::map<uint32_t, uint32_t>;

// What the backend of a process needs to know that serves a plan together with others of the
// machine.
struct AmongProcesses {
  std::shared_ptr<MemorySource> memory;  // that all share: of host devices, and of the kind pinned
  // Called when a device has failed as a whole, before anybody can see what has come of it.
  std::function<void(const Status&)> failed;
  // Returns whether others are gone, for whom nobody is to wait any more.
  std::function<bool()> gives_up;
};

struct Gpu {
  std::string name;    // "NVIDIA H200"
  uint64_t bytes = 0;  // of memory
  int major = 0;       // compute capability, as 9.0
  int minor = 0;
  std::string pci;     // "0000:1b:00.0"
  int copy_engines = 0;  // how many copies run at once beside kernels, as the driver says
  // Whether it reaches host memory that processes share, once it is registered, by the host's
  // address.
  bool reaches_registered = false;
};

// GpuLibrary: one that the kernels call, as cuBLASLt.
struct GpuLibrary {
  std::string name;
  std::string version;  // "2.28.9"; empty: it cannot be used
  std::string problem;  // why, or why not for all; where there is a second line, what to do
};

// GpuReport: what this machine has to run plans on GPUs. The messages of `usable` have two lines:
// what was seen, and what to do about it.
struct GpuReport {
  Status usable;              // Ok: plans can run on `gpus`
  std::string driver;         // "CUDA 13.0"; empty: there is none that can be used
  std::vector<Gpu> gpus;      // as the driver counts them
};

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

// `cgraph_cuda_backend`: returns a new backend that serves the devices of `gpus`, which the caller
// deletes; `among`: null where no other process serves some. Null where there can be none, with the
// reason in `error`: kNotFound when something must be installed, kUnsupported when this GPU cannot
// do it. Throws nothing but std::bad_alloc.
using CudaBackendFunction = Backend*(const GpuMap& gpus, const AmongProcesses* among,
                                     Status& error);

// Returns what must be equal: "cgraph 0.1.0, plan format 3, interfaces 0123456789abcdef".
const char* InterfaceText();

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARY_INTERFACE_H_
