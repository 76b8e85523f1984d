#include "runtime/device/cuda/libraries/cublaslt.h"

#include <fmt/format.h>

#include "runtime/device/cuda/libraries/shared_library.h"

namespace cgraph::cuda {
namespace {

Result<CublasLt> OpenCublasLt() {
  const SharedLibrary shared{{"libcublasLt.so.13", "libcublasLt.so.12"},
                             "multiplies matrices",
                             "cuBLAS, by `pip install " CGRAPH_CUBLAS_PACKAGE
                             "` or with a CUDA toolkit"};
  const Result<void*> library = shared.Open();
  if (!library.ok()) return library.status();
  CublasLt functions;
  const char* missing = nullptr;
#define FUNCTION(name, parameters)                                                              \
  functions.name = reinterpret_cast<decltype(functions.name)>(FindSymbol(*library, #name));     \
  if (functions.name == nullptr) missing = #name;
#include "runtime/device/cuda/libraries/cublaslt.def"
#undef FUNCTION
  functions.cublasLtGetVersion =
      reinterpret_cast<size_t (*)()>(FindSymbol(*library, "cublasLtGetVersion"));
  if (functions.cublasLtGetVersion == nullptr) missing = "cublasLtGetVersion";
  if (missing != nullptr) return shared.Unusable(fmt::format("has no function {}", missing));
  functions.version = functions.cublasLtGetVersion();
  if (functions.version < kOldestCublasLt) {
    return shared.Unusable(fmt::format("is of version {}.{}, and {}.{} or newer is needed",
                                       functions.version / 10000, functions.version % 10000 / 100,
                                       kOldestCublasLt / 10000, kOldestCublasLt % 10000 / 100));
  }
  return functions;
}

}  // namespace

Result<const CublasLt*> CublasLt::Get() {
  static const Result<CublasLt> opened = OpenCublasLt();
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
