// The device code of this library: the images of its kernels, which are loaded into a context, and
// the headers for code that is compiled at run time, as text. The build makes both tables
// (runtime/device/cuda/CMakeLists.txt).
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_MODULE_MODULE_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_MODULE_MODULE_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/cuda/driver/driver.h"
#include "runtime/device/cuda/kernels/executable.h"
#include "runtime/device/cuda/libraries/nvrtc.h"

namespace cgraph::cuda {

// Image: what nvcc made of one .cu file (a "fatbin").
struct Image {
  const char* file = nullptr;           // "kernels/poison.cu"
  const unsigned char* data = nullptr;  // begins with kImageMagic
};

// The first four bytes of an image, as a little-endian number.
inline constexpr unsigned kImageMagic = 0xBA55ED50;

std::span<const Image> Images();

// Returns the oldest compute capability that the images were compiled for: 80 for 8.0.
int OldestCapability();

// Loads all images into the context that is current on this thread; it must be current on the
// thread that destroys the module, too. `check` makes a status of the driver's result and of what
// was done. kNotFound when there is no code for the GPU; else what `check` says.
using CheckFunction = std::function<Status(CUresult result, const std::string& what)>;
Result<std::unique_ptr<KernelModule>> LoadKernels(const Driver& driver, CheckFunction check);

// Returns the headers, by the names that sources include them by. Standard ones are all of
// kernels/standard_library.h.
const std::vector<RtcHeader>& DeviceHeaders();

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_MODULE_MODULE_H_
