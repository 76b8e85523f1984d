#include "tests/emulation/driver/host_object.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>

namespace cgraph::emulation {

const HostKernels* LoadHostObject(const void* image) {
  HostObject object;
  std::memcpy(&object, image, sizeof(object));
  const int file = memfd_create("kernels", 0);
  const auto* bytes = static_cast<const std::byte*>(image) + sizeof(object);
  if (file < 0 || write(file, bytes, object.bytes) != static_cast<ssize_t>(object.bytes)) {
    return nullptr;
  }
  auto kernels = std::make_unique<HostKernels>();
  EnterInto(kernels.get());
  void* const opened =
      dlopen(fmt::format("/proc/self/fd/{}", file).c_str(), RTLD_NOW | RTLD_LOCAL);
  EnterInto(nullptr);
  // The file stays open: the loader takes files of one name and number for one object.
  if (opened != nullptr) return kernels.release();
  fmt::print(stderr, "emulated GPU: {}\n", dlerror());
  return nullptr;
}

}  // namespace cgraph::emulation
