// The functions that the emulated libnccl.so.2 exports, by their names in nccl.h.
#ifndef CGRAPH_TESTS_EMULATION_NCCL_FUNCTIONS_H_
#define CGRAPH_TESTS_EMULATION_NCCL_FUNCTIONS_H_

#include "runtime/device/cuda/libraries/nccl.h"

namespace cgraph::cuda {

extern "C" {
#define FUNCTION(name, parameters) int name parameters;
#include "runtime/device/cuda/libraries/nccl.def"
#undef FUNCTION
const char* ncclGetErrorString(int status);
const char* ncclGetLastError(NcclComm communicator);
}

}  // namespace cgraph::cuda

#endif  // CGRAPH_TESTS_EMULATION_NCCL_FUNCTIONS_H_
