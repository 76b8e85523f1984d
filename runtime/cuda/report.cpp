// Asks the driver for its GPUs, and libraries of CUDA's for their versions. A library is looked for
// by the name that it has in the toolkit's generation.
#include "runtime/cuda/report.h"

#include <dlfcn.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "runtime/cuda/driver/driver.h"
#include "runtime/cuda/libraries/nccl.h"

namespace cgraph::cuda {
namespace {

constexpr int kGeneration = CUDA_VERSION / 1000;

// Returns "2.28.9" of an opened library, or nothing where it does not say.
using VersionOf = std::string (*)(void* library);

// `cublasLtGetVersion`: 10000 * major + 100 * minor + patch.
std::string VersionOfCublasLt(void* library) {
  const auto get = reinterpret_cast<size_t (*)()>(dlsym(library, "cublasLtGetVersion"));
  if (get == nullptr) return "";
  const size_t version = get();
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string VersionOfNvrtc(void* library) {
  const auto get = reinterpret_cast<int (*)(int*, int*)>(dlsym(library, "nvrtcVersion"));
  int major = 0, minor = 0;
  if (get == nullptr || get(&major, &minor) != 0) return "";
  return fmt::format("{}.{}", major, minor);
}

device::GpuLibrary Find(const char* name, const std::string& file, const char* purpose,
                        VersionOf version_of) {
  device::GpuLibrary found;
  found.name = name;
  void* library = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library != nullptr) found.version = version_of(library);
  if (!found.version.empty()) return found;
  const char* error = library == nullptr ? dlerror() : "it does not say its version";
  const bool absent = std::string_view(error).find("No such file") != std::string_view::npos;
  found.problem = fmt::format("{} {}; it {}; install it where the loader looks", file,
                              absent ? "was not found" : fmt::format("cannot be used ({})", error),
                              purpose);
  return found;
}

device::GpuLibrary FindNccl() {
  device::GpuLibrary found;
  found.name = "NCCL";
  const Result<const Nccl*> nccl = Nccl::Get();
  if (nccl.ok()) {
    found.version = NcclVersionText((*nccl)->version);
    return found;
  }
  const std::string message = nccl.status().message();
  const size_t line = message.find('\n');
  found.problem = fmt::format("{}; it moves data between GPUs; {}", message.substr(0, line),
                              message.substr(line + 1));
  return found;
}

std::vector<device::GpuLibrary> FindLibraries() {
  return {
      Find("cuBLASLt", fmt::format("libcublasLt.so.{}", kGeneration), "multiplies matrices",
           VersionOfCublasLt),
      Find("NVRTC", fmt::format("libnvrtc.so.{}", kGeneration),
           "compiles chains of elementwise operations into one kernel", VersionOfNvrtc),
      FindNccl(),
  };
}

// Returns an attribute of a GPU; 0 where the driver does not say.
int Attribute(const Driver& driver, CUdevice device, CUdevice_attribute attribute) {
  int value = 0;
  return driver.cuDeviceGetAttribute(&value, attribute, device) == CUDA_SUCCESS ? value : 0;
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
  return gpu;
}

}  // namespace

device::GpuReport MakeReport() {
  device::GpuReport report;
  report.libraries = FindLibraries();
  const Result<const Driver*> opened = Driver::Get();
  report.usable = opened.status();
  if (!opened.ok()) return report;
  const Driver& driver = **opened;
  report.driver = fmt::format("CUDA {}.{}", driver.version / 1000, driver.version % 1000 / 10);
  int count = 0;
  report.usable = driver.Check(driver.cuDeviceGetCount(&count), "the GPUs cannot be counted");
  for (int i = 0; i < count; ++i) report.gpus.push_back(Describe(driver, i));
  return report;
}

}  // namespace cgraph::cuda
