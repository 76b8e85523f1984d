#include "runtime/base/library_path.h"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "runtime/base/text.h"

namespace cgraph {
namespace {

// Returns where a library of ours is looked for before the loader looks: at the program, and where
// that is another one's (Python) at the library that holds this code.
std::vector<std::filesystem::path> Places(const char* library) {
  std::error_code error;
  std::vector<std::filesystem::path> places;
  const std::filesystem::path folder =
      std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  if (!error) places = {folder / library, folder.parent_path() / "lib" / library};
  Dl_info own;
  if (dladdr(reinterpret_cast<void*>(&FindLibrary), &own) != 0 && own.dli_fname != nullptr) {
    const std::filesystem::path beside = std::filesystem::path(own.dli_fname).parent_path();
    if (beside.is_absolute() && beside != folder) places.push_back(beside / "lib" / library);
  }
  return places;
}

}  // namespace

std::string FindLibrary(const char* library) {
  std::error_code error;
  for (const std::filesystem::path& path : Places(library)) {
    if (std::filesystem::exists(path, error)) return path.string();
  }
  return library;
}

std::string WhereLooked(const char* library) {
  std::string looked;
  for (const std::filesystem::path& path : Places(library)) looked += path.string() + ", ";
  return looked + LoaderFoldersText();
}

std::string LoaderError(std::string_view name) {
  const char* text = dlerror();
  if (text == nullptr) return "no reason is known";
  std::string_view error = text;
  const std::string prefix = fmt::format("{}: ", name);
  if (error.starts_with(prefix)) error.remove_prefix(prefix.size());
  return std::string(error);
}

}  // namespace cgraph
