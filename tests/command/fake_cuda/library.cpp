// A libcgraph_cuda.so without CUDA, for the command line alone: it claims that there are FAKE_GPUS
// GPUs, serves devices by CPU threads and tells each on standard error. FAKE_PROBLEM is why GPUs
// cannot be used, FAKE_REFUSAL why there is no backend; FAKE_MADE_BY makes it one of another build.
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <fmt/format.h>

#include "runtime/device/cuda_library/interface.h"
#include "runtime/plan/print.h"

using namespace cgraph;

namespace {

class FakeBackend : public device::Backend {
 public:
  explicit FakeBackend(const device::GpuMap& gpus) : gpus_(gpus) {}
  std::string_view name() const override { return "fake"; }
  Status Serves(const plan::Plan& plan, uint32_t device) const override {
    if (gpus_.contains(device)) return Status::Ok();
    return {StatusCode::kUnsupported, plan::DeviceName(plan, device) + " is on no GPU"};
  }
  Result<std::unique_ptr<device::Device>> Open(const plan::Plan& plan, uint32_t device) override {
    std::fprintf(stderr, "fake: %s is cuda:%u\n", plan::DeviceName(plan, device).c_str(),
                 gpus_.at(device));
    return cpu_->Open(plan, device);
  }

 private:
  const device::GpuMap gpus_;
  std::unique_ptr<device::Backend> cpu_ = device::MakeCpuBackend();
};

void Report(device::GpuReport& report) {
  report.driver = "CUDA 13.0";
  const char* count = std::getenv("FAKE_GPUS");
  for (int i = 0; count != nullptr && i < std::atoi(count); ++i) {
    report.gpus.push_back({"NVIDIA Fake", 3ull << 30, 9, 0, fmt::format("0000:{:02x}:00.0", i)});
  }
  const char* problem = std::getenv("FAKE_PROBLEM");
  if (problem != nullptr) report.usable = {StatusCode::kNotFound, problem};
}

void Libraries(std::vector<device::GpuLibrary>& libraries) {
  libraries = {{"cuBLASLt", "13.1.0", ""}, {"NCCL", "", "libnccl.so.2 was not found\ninstall it"}};
}

void Warnings(std::vector<std::string>& warnings) {
  if (const char* warning = std::getenv("FAKE_WARNING")) warnings = {warning};
}

device::Backend* MakeBackend(const device::Assignment& assignment, Status& error) {
  if (std::getenv("FAKE_REFUSAL") == nullptr) return new FakeBackend(assignment.gpus);
  error = {StatusCode::kUnsupported, std::getenv("FAKE_REFUSAL")};
  return nullptr;
}

}  // namespace

extern "C" device::CudaTableFunction cgraph_cuda_table;

const device::CudaFunctions* cgraph_cuda_table() {
  static device::CudaFunctions functions = {
      .report = Report, .libraries = Libraries, .warnings = Warnings, .backend = MakeBackend};
  if (const char* other = std::getenv("FAKE_MADE_BY")) functions.made_by = other;
  return &functions;
}
