#include "tests/emulation/cublaslt/driver.h"

#include <dlfcn.h>

namespace cgraph::emulation {
namespace {

void* Symbol(const char* name) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return driver == nullptr ? nullptr : dlsym(driver, name);
}

}  // namespace

const Control* TheControl() {
  static const auto get =
      reinterpret_cast<const Control* (*)()>(Symbol("cgraph_emulation_control"));
  return get == nullptr ? nullptr : get();
}

CUcontext TheCurrentContext() {
  static const auto get = reinterpret_cast<CUresult (*)(CUcontext*)>(Symbol("cuCtxGetCurrent"));
  CUcontext context = nullptr;
  if (get == nullptr || get(&context) != CUDA_SUCCESS) return nullptr;
  return context;
}

}  // namespace cgraph::emulation
