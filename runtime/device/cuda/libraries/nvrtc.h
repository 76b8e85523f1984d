// NVRTC, which comes with CUDA's toolkit and compiles CUDA C++ at run time. What we use of it is
// declared here as in its header, nvrtc.h, which need not be installed. The library is opened at
// run time: without it, chains of elementwise operations run as one kernel after another.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARIES_NVRTC_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARIES_NVRTC_H_

#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace cgraph::cuda {

using RtcProgram = struct RtcProgramObject*;

// Statuses of nvrtc.h.
namespace rtc {
inline constexpr int kInvalidOption = 5, kCompilation = 6;
}  // namespace rtc

// The oldest version that is used, as 1000 * major + 10 * minor: 12.0.
inline constexpr int kOldestNvrtc = 12000;

// RtcHeader: a header that a source may include by its name.
struct RtcHeader {
  const char* name = nullptr;
  const char* text = nullptr;
};

struct Nvrtc {
#define FUNCTION(name, parameters) int(*name) parameters = nullptr;
#include "runtime/device/cuda/libraries/nvrtc.def"
#undef FUNCTION
  int version = 0;  // 13000: 13.0

  // Opens the library, once a process. kNotFound where there is none, kUnsupported where it is old
  // or broken, with a sentence that says what to do about it.
  static Result<const Nvrtc*> Get();

  // Compiles for GPUs of this compute capability: 90 for 9.0. Returns machine code or, where the
  // library does not know such GPUs, PTX, which the driver compiles. kFailed with what the compiler
  // says.
  Result<std::string> Compile(const std::string& source, const std::vector<RtcHeader>& headers,
                              int capability) const;
};

// Returns the options of every compilation but the architecture, which decide what code does.
const std::vector<const char*>& RtcOptions();

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARIES_NVRTC_H_
