#include "runtime/device/cuda/libraries/shared_library.h"

#include <dlfcn.h>

#include <map>
#include <mutex>
#include <utility>

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

// ---- warnings -----------------------------------------------------------------------------------

namespace {

struct Warning {
  std::string text;
  bool taken = false;
};
struct Warnings {
  std::mutex mutex;
  std::map<std::string, Warning> of;  // by library
};
Warnings& All() {
  static Warnings warnings;
  return warnings;
}

}  // namespace

void Warn(const char* library, const std::string& what, const Status& why) {
  std::string text = fmt::format("{} {}", library, what);
  const std::string& reason = why.message();
  if (!why.ok()) text += ": " + reason.substr(0, reason.find('\n'));
  std::lock_guard lock(All().mutex);
  All().of.try_emplace(library, Warning{std::move(text)});
}

void WarnUnused(const char* library, const Status& why) {
  if (why.ok() || why.code() == StatusCode::kNotFound) return;
  Warn(library, "is not used", why);
}

std::vector<std::string> TakeWarnings() {
  std::lock_guard lock(All().mutex);
  std::vector<std::string> texts;
  for (auto& [library, warning] : All().of) {
    if (!std::exchange(warning.taken, true)) texts.push_back(warning.text);
  }
  return texts;
}

}  // namespace cgraph::cuda
