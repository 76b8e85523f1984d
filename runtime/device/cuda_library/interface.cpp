#include "runtime/device/cuda_library/interface.h"

namespace cgraph::device {

// Linked into the library and into the program, each with its own.
const char* CudaFunctions::MadeBy() { return "cgraph " CGRAPH_VERSION ", " CGRAPH_COMPILER; }

}  // namespace cgraph::device
