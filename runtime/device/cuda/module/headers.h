// The headers that device code includes which is compiled at run time, as text. The build makes
// their table (runtime/device/cuda/CMakeLists.txt).
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_MODULE_HEADERS_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_MODULE_HEADERS_H_

#include <vector>

#include "runtime/device/cuda/libraries/nvrtc.h"

namespace cgraph::cuda {

// By the names that sources include them by. Standard ones are all of kernels/standard_library.h.
const std::vector<RtcHeader>& DeviceHeaders();

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_MODULE_HEADERS_H_
