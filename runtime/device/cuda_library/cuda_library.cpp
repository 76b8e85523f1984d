// Opens the driver's library first: without it ours is of no use, and most machines have none.
#include "runtime/device/cuda_library/cuda_library.h"

#include <dlfcn.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/status/text.h"

namespace cgraph::device {
namespace {

constexpr const char* kDriver = "libcuda.so.1";
constexpr const char* kLibrary = "libcgraph_cuda.so";

Status Absent(std::string message) { return {StatusCode::kNotFound, std::move(message)}; }

// Says what the loader found wrong, without the name of the library, with which it begins.
std::string LoaderError(std::string_view name) {
  const char* text = dlerror();
  if (text == nullptr) return "no reason is known";
  std::string_view error = text;
  const std::string prefix = fmt::format("{}: ", name);
  if (error.starts_with(prefix)) error.remove_prefix(prefix.size());
  return std::string(error);
}

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

// Returns where our library is looked for before the loader looks.
std::vector<std::filesystem::path> Places() {
  std::error_code error;
  const std::filesystem::path folder =
      std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  if (error) return {};
  return {folder / kLibrary, folder.parent_path() / "lib" / kLibrary};
}

// Returns the path of our library, or its bare name, for the loader to look for.
std::string FindLibrary() {
  std::error_code error;
  for (const std::filesystem::path& path : Places()) {
    if (std::filesystem::exists(path, error)) return path.string();
  }
  return kLibrary;
}

// Returns where the library was looked for in vain: "/x/bin/..., /x/lib/..., LD_LIBRARY_PATH, ...".
std::string Looked() {
  std::string looked;
  for (const std::filesystem::path& path : Places()) looked += path.string() + ", ";
  return looked + LoaderFoldersText();
}

Status CannotLoad(const std::string& path) {
  const std::string error = LoaderError(path);
  if (path == kLibrary && error.find("No such file") != std::string::npos) {
    return Absent(fmt::format("there is no {0} (looked for: {1})\n"
                              "build cgraph with CUDA's compiler, which scripts/cuda-toolkit "
                              "fetches into build/, and install {0} with it",
                              kLibrary, Looked()));
  }
  return Absent(fmt::format("{} cannot be loaded ({})\ninstall what it needs", path, error));
}

struct CudaFunctions {
  CudaReportFunction* report = nullptr;
  CudaWarningsFunction* warnings = nullptr;
  CudaBackendFunction* backend = nullptr;
};

Result<CudaFunctions> Open() {
  CGRAPH_RETURN_IF_ERROR(CheckDriver());
  const std::string path = FindLibrary();
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
  found.backend = reinterpret_cast<CudaBackendFunction*>(dlsym(library, "cgraph_cuda_backend"));
  found.warnings =
      reinterpret_cast<CudaWarningsFunction*>(dlsym(library, "cgraph_cuda_warnings"));
  if (found.report == nullptr || found.backend == nullptr || found.warnings == nullptr) {
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

std::vector<std::string> TakeGpuWarnings() {
  std::vector<std::string> warnings;
  if (is_loaded) (*LoadedCuda()).warnings(warnings);
  return warnings;
}

Result<std::unique_ptr<Backend>> MakeCudaBackend(const GpuMap& gpus) {
  if (!FindGpus().usable.ok()) return FindGpus().usable;
  Status error;
  std::unique_ptr<Backend> backend((*LoadedCuda()).backend(gpus, error));
  if (backend == nullptr) return error;
  return backend;
}

}  // namespace cgraph::device
