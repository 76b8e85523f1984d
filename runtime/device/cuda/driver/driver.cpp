// Opens libcuda.so.1 and says in one sentence why it cannot be used where that is so.
#include "runtime/device/cuda/driver/driver.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace cgraph::cuda {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";

Status Absent(std::string message) { return {StatusCode::kNotFound, std::move(message)}; }

// Returns "13.0".
std::string VersionText(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

// Returns "install one of version 580 or newer".
std::string Install() {
  constexpr int kRelease = kOldestDriver == 12040 ? 550 : kOldestDriver == 13000 ? 580 : 0;
  if (kRelease != 0) return fmt::format("install one of version {} or newer", kRelease);
  return fmt::format("install one for CUDA {} or newer", VersionText(kOldestDriver));
}

Status CannotOpen(std::string_view error) {
  if (error.find("No such file") != std::string_view::npos) {
    return Absent(fmt::format("there is no NVIDIA driver on this machine ({} was not found)\n{}",
                              kLibrary, Install()));
  }
  return Absent(fmt::format("the NVIDIA driver on this machine cannot be loaded ({})\n{}", error,
                            Install()));
}

// Returns " (CUDA_VISIBLE_DEVICES is \"\")" where GPUs may have been hidden, else nothing.
std::string Hidden() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible == nullptr ? "" : fmt::format(" (CUDA_VISIBLE_DEVICES is \"{}\")", visible);
}

Status NoGpu() {
  return Absent(fmt::format("the NVIDIA driver on this machine finds no GPU{}\n"
                            "see whether `nvidia-smi` lists one",
                            Hidden()));
}

// Fills the table; returns the name of a function that the library lacks, or null.
const char* FindFunctions(void* library, Driver& driver) {
  const char* missing = nullptr;
#define FUNCTION(member, symbol)                                                               \
  driver.member = reinterpret_cast<decltype(driver.member)>(dlsym(library, #symbol));          \
  if (driver.member == nullptr && missing == nullptr) missing = #symbol;
#include "runtime/device/cuda/driver/driver.def"
#undef FUNCTION
  return missing;
}

// Checks the version before anything else: an old driver lacks functions, too.
Status Initialise(Driver& driver, const char* missing) {
  if (driver.cuDriverGetVersion != nullptr &&
      driver.cuDriverGetVersion(&driver.version) == CUDA_SUCCESS &&
      driver.version < kOldestDriver) {
    return Absent(fmt::format("the NVIDIA driver on this machine is for CUDA {}, and CUDA {} is "
                              "needed\n{}",
                              VersionText(driver.version), VersionText(kOldestDriver), Install()));
  }
  if (missing != nullptr) {
    return Absent(fmt::format("the NVIDIA driver on this machine has no function {}\n{}", missing,
                              Install()));
  }
  // Streams that share a hardware channel run in the order of issue, which is right but overlaps
  // less. The driver gives 8 channels unless it is asked for more, and has 32.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", /*replace=*/0);
  const CUresult result = driver.cuInit(0);
  if (result == CUDA_ERROR_NO_DEVICE) return NoGpu();
  if (result != CUDA_SUCCESS) {
    return Absent(fmt::format("the NVIDIA driver on this machine does not start: {}\n"
                              "see whether `nvidia-smi` works",
                              driver.ErrorText(result)));
  }
  int count = 0;
  if (driver.cuDeviceGetCount(&count) != CUDA_SUCCESS || count == 0) return NoGpu();
  return Status::Ok();
}

Result<Driver> Open() {
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return CannotOpen(dlerror());
  Driver driver;
  const char* missing = FindFunctions(library, driver);
  Status status = Initialise(driver, missing);
  if (status.ok()) return driver;
  // Not closed: the driver may have started threads.
  return status;
}

}  // namespace

Result<const Driver*> Driver::Get() {
  static const Result<Driver> opened = Open();
  if (!opened.ok()) return opened.status();
  return &*opened;
}

std::string Driver::ErrorText(CUresult error) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (cuGetErrorName(error, &name) != CUDA_SUCCESS || name == nullptr) {
    return fmt::format("error {}", static_cast<int>(error));
  }
  if (cuGetErrorString(error, &text) != CUDA_SUCCESS || text == nullptr) return name;
  return fmt::format("{} ({})", name, text);
}

Status Driver::Check(CUresult result, const std::string& what) const {
  if (result == CUDA_SUCCESS) return Status::Ok();
  return {StatusCode::kFailed, fmt::format("{}: {}", what, ErrorText(result))};
}

}  // namespace cgraph::cuda
