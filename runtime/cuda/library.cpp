#include "runtime/cuda/library.h"

#include "runtime/cuda/report.h"

using namespace cgraph;

namespace {

// What plans meet until there is a backend.
Status NoBackend() {
  return {StatusCode::kUnsupported,
          "this version of cgraph does not run plans on GPUs yet\nleave them to the CPU"};
}

}  // namespace

const char* cgraph_cuda_abi() { return device::InterfaceText(); }

void cgraph_cuda_report(device::GpuReport& report) {
  report = cuda::MakeReport();
  if (report.usable.ok()) report.usable = NoBackend();
}

device::Backend* cgraph_cuda_backend(const device::GpuMap&, Status& error) {
  error = NoBackend();
  return nullptr;
}
