// libcgraph_cuda.so exports one C name, found with dlsym. runtime/device/cuda_library says what its
// functions do, and loads them. The report asks the driver for its GPUs, and libraries of CUDA's
// for their versions.
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/device/cuda/device/cuda_device.h"
#include "runtime/device/cuda/driver/driver.h"
#include "runtime/device/cuda/gpu/gpu.h"
#include "runtime/device/cuda/libraries/cublaslt.h"
#include "runtime/device/cuda/libraries/nccl.h"
#include "runtime/device/cuda/libraries/nvrtc.h"
#include "runtime/device/cuda/libraries/shared_library.h"
#include "runtime/device/cuda_library/interface.h"

extern "C" __attribute__((visibility("default"))) cgraph::device::CudaTableFunction
    cgraph_cuda_table;

namespace cgraph::cuda {
namespace {

// Returns "2.28.9" of 10000 * major + 100 * minor + patch.
std::string VersionText(size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

device::GpuLibrary Found(const char* name, std::string version) {
  return {name, std::move(version), ""};
}
device::GpuLibrary Missing(const char* name, const Status& why) {
  return {name, "", why.message()};
}

device::GpuLibrary FindCublasLt() {
  const Result<const CublasLt*> opened = CublasLt::Get();
  if (!opened.ok()) return Missing("cuBLASLt", opened.status());
  return Found("cuBLASLt", VersionText((*opened)->version));
}

device::GpuLibrary FindNvrtc() {
  const Result<const Nvrtc*> opened = Nvrtc::Get();
  if (!opened.ok()) return Missing("NVRTC", opened.status());
  const int version = (*opened)->version;
  return Found("NVRTC", fmt::format("{}.{}", version / 1000, version % 1000 / 10));
}

device::GpuLibrary FindNccl() {
  const Result<const Nccl*> opened = Nccl::Get();
  if (!opened.ok()) return Missing("NCCL", opened.status());
  device::GpuLibrary found = Found("NCCL", VersionText(static_cast<size_t>((*opened)->version)));
  found.problem = (*opened)->unordered;
  return found;
}

// Returns an attribute of a GPU; 0 where the driver does not say.
int Attribute(const Driver& driver, CUdevice device, CUdevice_attribute attribute) {
  int value = 0;
  return driver.cuDeviceGetAttribute(&value, attribute, device) == CUDA_SUCCESS ? value : 0;
}

Status CheckAsked(const Driver& driver, CUresult result, const std::string& what) {
  if (result == CUDA_SUCCESS) return Status::Ok();
  return {StatusCode::kFailed, fmt::format("{}: {}\nsee whether `nvidia-smi` works", what,
                                           driver.ErrorText(result))};
}

// Refuses GPUs whose streams lack what every wait between queues is made of.
Status CheckStreams(const Driver& driver, int index) {
  CUdevice device = 0;
  int words = 0;
  CUresult asked = driver.cuDeviceGet(&device, index);
  if (asked == CUDA_SUCCESS) {
    asked = driver.cuDeviceGetAttribute(
        &words, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, device);
  }
  CGRAPH_RETURN_IF_ERROR(
      CheckAsked(driver, asked, fmt::format("asking what the streams of cuda:{} can do", index)));
  if (words != 0) return Status::Ok();
  return {StatusCode::kUnsupported,
          fmt::format("the streams of cuda:{} cannot wait for words in memory, as plans need\n"
                      "under Windows they cannot, WSL included; use Linux itself", index)};
}

device::Gpu Describe(const Driver& driver, int index) {
  device::Gpu gpu;
  CUdevice device = 0;
  if (driver.cuDeviceGet(&device, index) != CUDA_SUCCESS) return gpu;
  char name[256] = {};
  size_t bytes = 0;
  if (driver.cuDeviceGetName(name, sizeof name, device) == CUDA_SUCCESS) gpu.name = name;
  if (driver.cuDeviceTotalMem(&bytes, device) == CUDA_SUCCESS) gpu.bytes = bytes;
  gpu.major = Attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  gpu.minor = Attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  gpu.pci = fmt::format("{:04x}:{:02x}:{:02x}.0",
                        Attribute(driver, device, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID),
                        Attribute(driver, device, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID),
                        Attribute(driver, device, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID));
  gpu.copy_engines = Attribute(driver, device, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
  gpu.reaches_registered =
      Attribute(driver, device, CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM) != 0;
  return gpu;
}

void Report(device::GpuReport& report) {
  const Result<const Driver*> opened = Driver::Get();
  report.usable = opened.status();
  if (!opened.ok()) return;
  const Driver& driver = **opened;
  report.driver = fmt::format("CUDA {}.{}", driver.version / 1000, driver.version % 1000 / 10);
  int count = 0;
  report.usable = CheckAsked(driver, driver.cuDeviceGetCount(&count), "counting GPUs");
  Status too_old;  // the first that is; one that is not used does no harm
  bool any = false;
  for (int i = 0; i < count; ++i) {
    const device::Gpu& gpu = report.gpus.emplace_back(Describe(driver, i));
    const bool known = gpu.major != 0;
    const Status age =
        known ? CheckComputeCapability(i, gpu.name, gpu.major, gpu.minor) : Status::Ok();
    if (age.ok()) {
      any = true;
      if (report.usable.ok()) report.usable = CheckStreams(driver, i);
    } else if (too_old.ok()) {
      too_old = age;
    }
  }
  if (report.usable.ok() && !any) report.usable = too_old;
}

void ListLibraries(std::vector<device::GpuLibrary>& libraries) {
  libraries = {FindCublasLt(), FindNvrtc(), FindNccl()};
}

void ListWarnings(std::vector<std::string>& warnings) { warnings = TakeWarnings(); }

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
  static const cgraph::device::CudaFunctions functions = {.report = Report,
                                                          .libraries = ListLibraries,
                                                          .warnings = ListWarnings,
                                                          .backend = MakeBackend};
  return &functions;
}
