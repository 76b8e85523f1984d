// What libcgraph_cuda.so exports: one C function that returns a table of C functions. Objects of
// C++ cross by these (backends, devices, queues), so the library and the program that loads it must
// have the same headers and compiler. The table says what its library was made for.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARY_INTERFACE_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARY_INTERFACE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/backends.h"
#include "runtime/device/gpus.h"

namespace cgraph::device {

// The version must be raised with every change of this header or of one that it includes, but for
// comments; tests/structure/plugin_interface.py writes the digest of these headers behind it.
inline constexpr uint32_t kCudaInterface = 9;  // 9: a0206034cbfcc007

struct CudaFunctions {
  uint32_t version = kCudaInterface;
  uint32_t size = sizeof(CudaFunctions);
  const char* made_by = MadeBy();

  // Fills a report. No function throws anything but std::bad_alloc.
  void (*report)(GpuReport& report) = nullptr;
  // Fills a list of CUDA's libraries, all of which it opens.
  void (*libraries)(std::vector<GpuLibrary>& libraries) = nullptr;
  // Returns what libraries of CUDA's that are there did not do, a sentence about each, which is
  // returned once.
  void (*warnings)(std::vector<std::string>& warnings) = nullptr;
  // Returns a new backend that serves the devices of an assignment, which the caller deletes. Null
  // where there can be none, with the reason in `error`: kNotFound when something must be
  // installed, kUnsupported when this GPU cannot do it.
  Backend* (*backend)(const Assignment& assignment, Status& error) = nullptr;

  // Returns "cgraph 0.1.0, GNU 12.2.0": the version and the compiler of whoever calls it.
  static const char* MadeBy();
};

// `cgraph_cuda_table`
using CudaTableFunction = const CudaFunctions*();

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARY_INTERFACE_H_
