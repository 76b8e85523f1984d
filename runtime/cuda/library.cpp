#include "runtime/cuda/library.h"

#include "runtime/cuda/driver/driver.h"

const char* cgraph_cuda_abi() { return cgraph::device::InterfaceText(); }

cgraph::device::Backend* cgraph_cuda_backend(const cgraph::device::GpuMap&,
                                             cgraph::Status& error) {
  const auto driver = cgraph::cuda::Driver::Get();
  error = driver.ok() ? cgraph::Status(cgraph::StatusCode::kUnsupported,
                                       "this version of cgraph does not run plans on GPUs yet")
                      : driver.status();
  return nullptr;
}
