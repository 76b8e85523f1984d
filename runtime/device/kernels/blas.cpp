// Finds OpenBLAS by its path in Debian's serial package, else by its name wherever the loader looks.
#include "runtime/device/kernels/blas.h"

#include <dlfcn.h>

namespace cgraph::device {
namespace {

constexpr const char* kPaths[] = {
    "/usr/lib/x86_64-linux-gnu/openblas-serial/libopenblas.so.0",
    "/usr/lib/aarch64-linux-gnu/openblas-serial/libopenblas.so.0",
    "libopenblas.so.0",
};

Result<Blas> Load() {
  for (const char* path : kPaths) {
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    Blas blas;
    blas.sgemm = reinterpret_cast<Gemm<float>>(dlsym(library, "cblas_sgemm"));
    blas.dgemm = reinterpret_cast<Gemm<double>>(dlsym(library, "cblas_dgemm"));
    if (blas.sgemm == nullptr || blas.dgemm == nullptr) continue;
    // A threaded build would start threads of its own beside the workers.
    if (void* set_threads = dlsym(library, "openblas_set_num_threads")) {
      reinterpret_cast<void (*)(int)>(set_threads)(1);
    }
    return blas;
  }
  return Status(StatusCode::kNotFound,
                "the plan multiplies matrices, which needs OpenBLAS, and `libopenblas.so.0` cannot "
                "be loaded; install libopenblas0-serial");
}

}  // namespace

Result<const Blas*> LoadBlas() {
  static const Result<Blas> loaded = Load();
  if (!loaded.ok()) return loaded.status();
  return &*loaded;
}

}  // namespace cgraph::device
