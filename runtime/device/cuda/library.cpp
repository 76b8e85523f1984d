#include "runtime/device/cuda/library.h"

#include "runtime/device/cuda/device/backend.h"
#include "runtime/device/cuda/libraries/warnings.h"
#include "runtime/device/cuda/report.h"

const char* cgraph_cuda_abi() { return cgraph::device::InterfaceText(); }

void cgraph_cuda_report(cgraph::device::GpuReport& report) { report = cgraph::cuda::MakeReport(); }

void cgraph_cuda_libraries(std::vector<cgraph::device::GpuLibrary>& libraries) {
  libraries = cgraph::cuda::FindLibraries();
}

void cgraph_cuda_warnings(std::vector<std::string>& warnings) {
  warnings = cgraph::cuda::TakeWarnings();
}

cgraph::device::Backend* cgraph_cuda_backend(const cgraph::device::Assignment& assignment,
                                             cgraph::Status& error) {
  const auto driver = cgraph::cuda::Driver::Get();
  if (driver.ok()) return cgraph::cuda::MakeCudaBackend(**driver, assignment).release();
  error = driver.status();
  return nullptr;
}
