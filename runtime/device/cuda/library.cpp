// libcgraph_cuda.so exports one C name, found with dlsym. runtime/device/cuda_library says what its
// functions do, and loads them.
#include "runtime/device/cuda/device/backend.h"
#include "runtime/device/cuda/libraries/warnings.h"
#include "runtime/device/cuda/report.h"
#include "runtime/device/cuda_library/interface.h"

extern "C" __attribute__((visibility("default"))) cgraph::device::CudaTableFunction
    cgraph_cuda_table;

namespace cgraph::cuda {
namespace {

void Report(device::GpuReport& report) { report = MakeReport(); }
void Libraries(std::vector<device::GpuLibrary>& libraries) { libraries = FindLibraries(); }
void Warnings(std::vector<std::string>& warnings) { warnings = TakeWarnings(); }

device::Backend* MakeBackend(const device::Assignment& assignment, Status& error) {
  const auto driver = Driver::Get();
  if (driver.ok()) return MakeCudaBackend(**driver, assignment).release();
  error = driver.status();
  return nullptr;
}

}  // namespace
}  // namespace cgraph::cuda

const cgraph::device::CudaFunctions* cgraph_cuda_table() {
  using namespace cgraph::cuda;
  static const cgraph::device::CudaFunctions functions = {
      .report = Report, .libraries = Libraries, .warnings = Warnings, .backend = MakeBackend};
  return &functions;
}
