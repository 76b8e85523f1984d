// Opens the driver's library first: without it ours is of no use, and most machines have none.
#include "runtime/device/cuda_library/cuda_library.h"

#include <dlfcn.h>

#include <atomic>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/base/library_path.h"

namespace cgraph::device {
namespace {

constexpr const char* kDriver = "libcuda.so.1";
constexpr const char* kLibrary = "libcgraph_cuda.so";

Status Absent(std::string message) { return {StatusCode::kNotFound, std::move(message)}; }

Status CheckDriver() {
  // Kept open: our library opens the same one next.
  if (dlopen(kDriver, RTLD_NOW | RTLD_LOCAL) != nullptr) return Status::Ok();
  const std::string error = LoaderError(kDriver);
  if (error.find("No such file") != std::string::npos) {
    return Absent("there is no NVIDIA driver on this machine (libcuda.so.1 was not found)\n"
                  "install one of version 580 or newer");
  }
  return Absent(fmt::format("the NVIDIA driver on this machine cannot be loaded ({}: {})\n"
                            "install one of version 580 or newer",
                            kDriver, error));
}

Status CannotLoad(const std::string& path) {
  const std::string error = LoaderError(path);
  if (path == kLibrary && error.find("No such file") != std::string::npos) {
    return Absent(fmt::format("there is no {0} (looked for: {1})\n"
                              "build cgraph with CUDA's compiler, which scripts/cuda-toolkit "
                              "fetches into build/, and install {0} with it",
                              kLibrary, WhereLooked(kLibrary)));
  }
  return Absent(fmt::format("{} cannot be loaded ({})\ninstall what it needs", path, error));
}

struct CudaFunctions {
  CudaReportFunction* report = nullptr;
  CudaLibrariesFunction* libraries = nullptr;
  CudaWarningsFunction* warnings = nullptr;
  CudaBackendFunction* backend = nullptr;
};

Result<CudaFunctions> Open() {
  CGRAPH_RETURN_IF_ERROR(CheckDriver());
  const std::string path = FindLibrary(kLibrary);
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return CannotLoad(path);
  const auto abi = reinterpret_cast<CudaAbiFunction*>(dlsym(library, "cgraph_cuda_abi"));
  const std::string_view made_for = abi == nullptr ? "no cgraph" : abi();
  if (made_for != InterfaceText()) {
    return Status(StatusCode::kInvalid,
                  fmt::format("{} is of another build: it is made for {}, and this is {}\n"
                              "install both from one build",
                              path, made_for, InterfaceText()));
  }
  CudaFunctions found;
  found.report = reinterpret_cast<CudaReportFunction*>(dlsym(library, "cgraph_cuda_report"));
  found.libraries =
      reinterpret_cast<CudaLibrariesFunction*>(dlsym(library, "cgraph_cuda_libraries"));
  found.backend = reinterpret_cast<CudaBackendFunction*>(dlsym(library, "cgraph_cuda_backend"));
  found.warnings =
      reinterpret_cast<CudaWarningsFunction*>(dlsym(library, "cgraph_cuda_warnings"));
  if (found.report == nullptr || found.libraries == nullptr || found.backend == nullptr ||
      found.warnings == nullptr) {
    return Status(StatusCode::kInvalid, fmt::format("{} lacks a function\ninstall it anew", path));
  }
  return found;
}

std::atomic<bool> is_loaded{false};

const Result<CudaFunctions>& LoadedCuda() {
  static const Result<CudaFunctions> opened = Open();
  if (opened.ok()) is_loaded = true;
  return opened;
}

}  // namespace

const GpuReport& FindGpus() {
  static const GpuReport report = [] {
    GpuReport found;
    const Result<CudaFunctions>& library = LoadedCuda();
    if (library.ok()) (*library).report(found);
    else found.usable = library.status();
    return found;
  }();
  return report;
}

std::vector<GpuLibrary> FindGpuLibraries() {
  std::vector<GpuLibrary> libraries;
  if (const Result<CudaFunctions>& ours = LoadedCuda(); ours.ok()) (*ours).libraries(libraries);
  return libraries;
}

std::vector<std::string> TakeGpuWarnings() {
  std::vector<std::string> warnings;
  if (is_loaded) (*LoadedCuda()).warnings(warnings);
  return warnings;
}

Result<std::unique_ptr<Backend>> MakeCudaBackend(const GpuMap& gpus, const AmongProcesses* among) {
  if (!FindGpus().usable.ok()) return FindGpus().usable;
  Status error;
  std::unique_ptr<Backend> backend((*LoadedCuda()).backend(gpus, among, error));
  if (backend == nullptr) return error;
  return backend;
}

}  // namespace cgraph::device
