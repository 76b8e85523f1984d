#include "runtime/python/methods/gpu/driver.h"

#include <dlfcn.h>

#include <fmt/format.h>

namespace cgraph::methods {
namespace {

constexpr char kDriver[] = "libcuda.so.1";

template <typename Function>
bool Get(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

bool Load(Driver& driver) {
  void* library = dlopen(kDriver, RTLD_LAZY | RTLD_NOLOAD);
  return library != nullptr && Get(library, "cuCtxGetCurrent", driver.cuCtxGetCurrent) &&
         Get(library, "cuCtxSetCurrent", driver.cuCtxSetCurrent) &&
         Get(library, "cuMemcpyAsync", driver.cuMemcpyAsync) &&
         Get(library, "cuMemsetD8Async", driver.cuMemsetD8Async) &&
         Get(library, "cuStreamWaitEvent", driver.cuStreamWaitEvent) &&
         Get(library, "cuEventCreate", driver.cuEventCreate) &&
         Get(library, "cuEventRecord", driver.cuEventRecord) &&
         Get(library, "cuEventQuery", driver.cuEventQuery) &&
         Get(library, "cuEventDestroy_v2", driver.cuEventDestroy) &&
         Get(library, "cuGetErrorName", driver.cuGetErrorName);
}

}  // namespace

const Driver* Driver::Find() {
  static Driver driver;
  static const bool is_there = Load(driver);
  return is_there ? &driver : nullptr;
}

std::string Driver::Said(const char* function, Status status) const {
  if (status == 0) return "";
  const char* name = nullptr;
  cuGetErrorName(status, &name);
  return fmt::format("{}: {}", function, name != nullptr ? name : "an error of CUDA's driver");
}

}  // namespace cgraph::methods
