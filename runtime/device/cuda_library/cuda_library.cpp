// libcgraph_cuda.so, loaded when something asks for NVIDIA GPUs.
//
// The library is the one beside the executable, in ../lib of there, or where the loader looks,
// whichever is found first; it is never unloaded. The driver's library is opened first: without it
// ours is of no use, and most machines have none. Where ours cannot be loaded, the report says so:
// kNotFound, or kInvalid when it is of another version.
#include <dlfcn.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/base/library_path.h"
#include "runtime/device/backends.h"
#include "runtime/device/cuda_library/interface.h"

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

// Returns "cgraph 0.1.0, GNU 12.2.0, interface 1".
std::string MadeFor(const CudaFunctions& functions) {
  return fmt::format("{}, interface {}", functions.made_by, functions.version);
}

Result<CudaFunctions> Open() {
  CGRAPH_RETURN_IF_ERROR(CheckDriver());
  const std::string path = FindLibrary(kLibrary);
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return CannotLoad(path);
  const auto table = reinterpret_cast<CudaTableFunction*>(dlsym(library, "cgraph_cuda_table"));
  const CudaFunctions* const found = table == nullptr ? nullptr : table();
  const CudaFunctions ours;
  if (found == nullptr || found->version != ours.version || found->size != ours.size ||
      std::string_view(found->made_by) != ours.made_by) {
    return Status(StatusCode::kInvalid,
                  fmt::format("{} is of another build: it is made for {}, and this is {}\n"
                              "install both from one build",
                              path, found == nullptr ? "no such cgraph" : MadeFor(*found),
                              MadeFor(ours)));
  }
  return *found;
}

std::atomic<bool> is_loaded{false};

const Result<CudaFunctions>& LoadedCuda() {
  static const Result<CudaFunctions> opened = Open();
  if (opened.ok()) is_loaded = true;
  return opened;
}

// Functions of the driver, as cuda.h declares them.
struct ContextFunctions {
  int (*get)(void**) = nullptr;  // cuCtxGetCurrent
  int (*set)(void*) = nullptr;   // cuCtxSetCurrent
};

// Returns null where the process has not opened the driver: then no thread has a context.
const ContextFunctions* Contexts() {
  static std::atomic<const ContextFunctions*> known{nullptr};
  if (const ContextFunctions* functions = known.load(std::memory_order_acquire)) return functions;
  void* const driver = dlopen(kDriver, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (driver == nullptr) return nullptr;
  static const ContextFunctions functions = {
      reinterpret_cast<int (*)(void**)>(dlsym(driver, "cuCtxGetCurrent")),
      reinterpret_cast<int (*)(void*)>(dlsym(driver, "cuCtxSetCurrent"))};
  if (functions.get == nullptr || functions.set == nullptr) return nullptr;
  known.store(&functions, std::memory_order_release);
  return &functions;
}

class CudaPlatform : public GpuPlatform {
 public:
  const GpuReport& Find() override {
    static const GpuReport report = [] {
      GpuReport found;
      const Result<CudaFunctions>& library = LoadedCuda();
      if (library.ok()) (*library).report(found);
      else found.usable = library.status();
      return found;
    }();
    return report;
  }
  std::vector<GpuLibrary> FindLibraries() override {
    std::vector<GpuLibrary> libraries;
    if (const Result<CudaFunctions>& ours = LoadedCuda(); ours.ok()) (*ours).libraries(libraries);
    return libraries;
  }
  std::vector<std::string> TakeWarnings() override {
    std::vector<std::string> warnings;
    if (is_loaded) (*LoadedCuda()).warnings(warnings);
    return warnings;
  }
  // A thread that has not asked for a GPU yet has no context; nor has one before the driver begins.
  std::optional<void*> CurrentContext() override {
    if (Contexts() == nullptr) return std::nullopt;
    void* context = nullptr;
    return Contexts()->get(&context) == 0 ? context : nullptr;
  }
  void SetCurrentContext(void* context) override { Contexts()->set(context); }
};

Result<std::unique_ptr<Backend>> MakeCudaBackend(const Assignment& assignment) {
  Status error;
  std::unique_ptr<Backend> backend((*LoadedCuda()).backend(assignment, error));
  if (backend == nullptr) return error;
  return backend;
}

}  // namespace

BackendKind CudaBackends() {
  static CudaPlatform platform;
  return {MakeCudaBackend, &platform};
}

}  // namespace cgraph::device
