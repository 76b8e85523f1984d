#include "runtime/device/cuda/libraries/shared_library.h"

#include <dlfcn.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/base/text.h"

namespace cgraph::cuda {

Result<void*> SharedLibrary::Open() const {
  std::string error;  // of a library that is there and cannot be opened
  for (const char* file : files) {
    if (void* library = dlopen(file, RTLD_LAZY | RTLD_LOCAL)) return library;
    const std::string_view why = dlerror();
    if (error.empty() && why.find("No such file") == why.npos) error = why;
  }
  if (!error.empty()) return Unusable(fmt::format("cannot be opened ({})", error));
  return Absent();
}

Status SharedLibrary::Absent() const {
  const std::string names = files.size() == 1
                                ? fmt::format("{} was not", files[0])
                                : fmt::format("neither {} was", fmt::join(files, " nor "));
  return {StatusCode::kNotFound, fmt::format("{} found (looked for: {}); it {}\n{}", names,
                                             LoaderFoldersText(), purpose, Mend())};
}

Status SharedLibrary::Unusable(std::string_view what) const {
  return {StatusCode::kUnsupported,
          fmt::format("{} {}; it {}\n{}", files[0], what, purpose, Mend())};
}

std::string SharedLibrary::Mend() const {
  return fmt::format("install {}, and name its folder in LD_LIBRARY_PATH unless the loader looks "
                     "there", install);
}

void* FindSymbol(void* library, const char* name) { return dlsym(library, name); }

}  // namespace cgraph::cuda
