#include "runtime/cuda/libraries/shared_library.h"

#include <dlfcn.h>

#include <fmt/format.h>

namespace cgraph::cuda {

Result<void*> SharedLibrary::Open() const {
  std::string error;  // of a library that is there and cannot be opened
  for (const char* file : files) {
    if (void* library = dlopen(file, RTLD_LAZY | RTLD_LOCAL)) return library;
    const std::string_view why = dlerror();
    if (error.empty() && why.find("No such file") == why.npos) error = why;
  }
  if (!error.empty()) return Unusable(fmt::format("cannot be opened ({})", error));
  return Status(StatusCode::kNotFound, Unusable("was not found").message());
}

Status SharedLibrary::Unusable(std::string_view what) const {
  return {StatusCode::kUnsupported,
          fmt::format("{} {}; it {}; install it where the loader looks", files[0], what, purpose)};
}

void* FindSymbol(void* library, const char* name) { return dlsym(library, name); }

}  // namespace cgraph::cuda
