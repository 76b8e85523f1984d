// Shared libraries of CUDA's. None is linked: each is opened when it is first needed, and a machine
// without it does without.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARIES_SHARED_LIBRARY_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARIES_SHARED_LIBRARY_H_

#include <cuda.h>

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"

namespace cgraph::cuda {

// SharedLibrary: a library by the names that it has in the generations that are known, the newest
// first; what it does for us: "multiplies matrices"; and what to install: "cuBLAS, by `pip install
// nvidia-cublas`".
struct SharedLibrary {
  std::vector<const char*> files;
  const char* purpose = nullptr;
  const char* install = nullptr;

  // Opens the first of the files that the loader finds. It is never closed: libraries of CUDA's
  // start threads. kNotFound where there is none, kUnsupported where none can be opened.
  Result<void*> Open() const;
  // Returns why the library is not used, and on a second line what to do about it (kUnsupported):
  // `what` is "is of version 11.4, and 12.0 or newer is needed".
  Status Unusable(std::string_view what) const;

 private:
  Status Absent() const;  // kNotFound, with where it was looked for
  std::string Mend() const;
};

// The packages of the Python package index whose libraries go with this build's generation of CUDA.
#if CUDA_VERSION >= 13000
#define CGRAPH_CUBLAS_PACKAGE "nvidia-cublas"
#define CGRAPH_NVRTC_PACKAGE "nvidia-cuda-nvrtc"
#define CGRAPH_NCCL_PACKAGE "nvidia-nccl-cu13"
#else
#define CGRAPH_CUBLAS_PACKAGE "nvidia-cublas-cu12"
#define CGRAPH_NVRTC_PACKAGE "nvidia-cuda-nvrtc-cu12"
#define CGRAPH_NCCL_PACKAGE "nvidia-nccl-cu12"
#endif

// Returns where a function of an opened library is; null where it has none of the name.
void* FindSymbol(void* library, const char* name);

// Warnings: what libraries of CUDA's that are there fail to do, and plans run without. A library
// that is not installed is none: `cgrun --devices` says so.

// Remembers the first warning about each library: `what` it does, or does not, and the first line
// of `why`, if there is one. Any thread may call.
void Warn(const char* library, const std::string& what, const Status& why = Status::Ok());
// As above, that it is not used; nothing for kNotFound.
void WarnUnused(const char* library, const Status& why);

// Returns those that have not been taken yet.
std::vector<std::string> TakeWarnings();

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARIES_SHARED_LIBRARY_H_
