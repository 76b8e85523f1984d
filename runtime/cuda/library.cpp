#include "runtime/cuda/library.h"

#include "runtime/cuda/device/backend.h"
#include "runtime/cuda/report.h"

using namespace cgraph;

const char* cgraph_cuda_abi() { return device::InterfaceText(); }

void cgraph_cuda_report(device::GpuReport& report) { report = cuda::MakeReport(); }

device::Backend* cgraph_cuda_backend(const device::GpuMap& gpus, Status& error) {
  const auto driver = cuda::Driver::Get();
  if (driver.ok()) return cuda::MakeCudaBackend(**driver, gpus).release();
  error = driver.status();
  return nullptr;
}
