#include "runtime/cuda/libraries/cublaslt.h"

#include <dlfcn.h>

#include <utility>

#include <fmt/format.h>

namespace cgraph::cuda {
namespace {

constexpr const char* kLibraries[] = {"libcublasLt.so.13", "libcublasLt.so.12"};

Status Absent(std::string message) { return {StatusCode::kNotFound, std::move(message)}; }

Result<CublasLt> Open() {
  void* library = nullptr;
  for (const char* name : kLibraries) {
    if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (library == nullptr) {
    return Absent(fmt::format("cuBLASLt was not found ({} or {})\ninstall CUDA's libraries",
                              kLibraries[0], kLibraries[1]));
  }
  CublasLt functions;
  const char* missing = nullptr;
#define FUNCTION(name, parameters)                                                              \
  functions.name = reinterpret_cast<decltype(functions.name)>(dlsym(library, #name));           \
  if (functions.name == nullptr) missing = #name;
#include "runtime/cuda/libraries/cublaslt.def"
#undef FUNCTION
  functions.cublasLtGetVersion =
      reinterpret_cast<size_t (*)()>(dlsym(library, "cublasLtGetVersion"));
  if (functions.cublasLtGetVersion == nullptr) missing = "cublasLtGetVersion";
  if (missing != nullptr) return Absent(fmt::format("cuBLASLt has no function {}", missing));
  const size_t version = functions.cublasLtGetVersion();
  if (version < kOldestCublasLt) {
    return Absent(fmt::format("cuBLASLt is version {}.{}, and {}.{} or newer is needed",
                              version / 10000, version % 10000 / 100, kOldestCublasLt / 10000,
                              kOldestCublasLt % 10000 / 100));
  }
  return functions;
}

}  // namespace

Result<const CublasLt*> CublasLt::Get() {
  static const Result<CublasLt> opened = Open();
  if (!opened.ok()) return opened.status();
  return &*opened;
}

Result<std::unique_ptr<ProductLibrary>> ProductLibrary::Make(const CublasLt& functions) {
  LtHandle handle = nullptr;
  if (const int status = functions.cublasLtCreate(&handle); status != 0) {
    return Status(StatusCode::kFailed, fmt::format("cuBLASLt reports error {}", status));
  }
  return std::unique_ptr<ProductLibrary>(new ProductLibrary(functions, handle));
}

ProductLibrary::~ProductLibrary() { functions_.cublasLtDestroy(handle_); }

}  // namespace cgraph::cuda
