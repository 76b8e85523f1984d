#include "runtime/device/cuda_library/callers_context.h"

#include <dlfcn.h>

#include <atomic>

namespace cgraph::device {
namespace {

// Of the driver, as cuda.h declares them.
struct DriverFunctions {
  int (*get)(void**) = nullptr;  // cuCtxGetCurrent
  int (*set)(void*) = nullptr;   // cuCtxSetCurrent
};

// Null where nobody of the process has opened the driver: then no thread has a context.
const DriverFunctions* Functions() {
  static std::atomic<const DriverFunctions*> known{nullptr};
  if (const DriverFunctions* functions = known.load(std::memory_order_acquire)) return functions;
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (driver == nullptr) return nullptr;
  static const DriverFunctions functions = {
      reinterpret_cast<int (*)(void**)>(dlsym(driver, "cuCtxGetCurrent")),
      reinterpret_cast<int (*)(void*)>(dlsym(driver, "cuCtxSetCurrent"))};
  if (functions.get == nullptr || functions.set == nullptr) return nullptr;
  known.store(&functions, std::memory_order_release);
  return &functions;
}

}  // namespace

// A thread that has not asked for a GPU yet has no context; nor has one before the driver begins.
CallersContext::CallersContext(bool uses_gpus) : kept_(uses_gpus && Functions() != nullptr) {
  if (kept_ && Functions()->get(&context_) != 0) context_ = nullptr;
}

CallersContext::~CallersContext() {
  if (kept_) Functions()->set(context_);
}

}  // namespace cgraph::device
