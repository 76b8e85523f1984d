#include "runtime/cuda/library.h"

#include "runtime/cuda/device/backend.h"

const char* cgraph_cuda_abi() { return cgraph::device::InterfaceText(); }

cgraph::device::Backend* cgraph_cuda_backend(const cgraph::device::GpuMap& gpus,
                                             cgraph::Status& error) {
  const auto driver = cgraph::cuda::Driver::Get();
  if (driver.ok()) return cgraph::cuda::MakeCudaBackend(**driver, gpus).release();
  error = driver.status();
  return nullptr;
}
