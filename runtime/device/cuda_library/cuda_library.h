// libcgraph_cuda.so, loaded when something asks for NVIDIA GPUs.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARY_CUDA_LIBRARY_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARY_CUDA_LIBRARY_H_

#include <memory>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/backends.h"
#include "runtime/device/cuda_library/interface.h"

namespace cgraph::device {

// Returns what this machine has, found out once a process. The library is the one beside the
// executable, in ../lib of there, or where the loader looks, whichever is found first; it is never
// unloaded. Without an NVIDIA driver it is not looked for. Where it cannot be loaded, the report's
// `usable` says so: kNotFound, or kInvalid when it is of another build. Thread-safe. It opens the
// driver, and none of the libraries that a program may have of its own.
const GpuReport& FindGpus();

// Returns the libraries of CUDA's that kernels and collectives use; an empty list where
// libcgraph_cuda.so cannot be loaded. It opens them, so what the process loads later gets these
// where it would bring its own. Thread-safe.
std::vector<GpuLibrary> FindGpuLibraries();

// Makes a backend that serves the devices of `gpus`; `among`: where other processes serve others.
// Fails as FindGpus().usable does, and where the library makes none.
Result<std::unique_ptr<Backend>> MakeCudaBackend(const GpuMap& gpus,
                                                 const AmongProcesses* among = nullptr);

// Returns what libraries of CUDA's that are there did not do since this was asked last, a sentence
// about each; plans run without them. Thread-safe.
std::vector<std::string> TakeGpuWarnings();

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARY_CUDA_LIBRARY_H_
