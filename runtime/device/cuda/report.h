// Report: what this machine has to run plans on GPUs, for people to read.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_REPORT_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_REPORT_H_

#include <vector>

#include "runtime/device/cuda_library/interface.h"

namespace cgraph::cuda {

device::GpuReport MakeReport();
// Opens CUDA's libraries.
std::vector<device::GpuLibrary> FindLibraries();

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_REPORT_H_
