// Report: what this machine has to run plans on GPUs, for people to read.
#ifndef CGRAPH_RUNTIME_CUDA_REPORT_H_
#define CGRAPH_RUNTIME_CUDA_REPORT_H_

#include "runtime/device/cuda_library/interface.h"

namespace cgraph::cuda {

device::GpuReport MakeReport();

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_CUDA_REPORT_H_
