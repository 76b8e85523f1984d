#include "runtime/native/library.h"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/base/kinds/native.h"
#include "runtime/base/library_path.h"
#include "runtime/base/text.h"
#include "runtime/native/guarded.h"

namespace cgraph::native {
namespace {

constexpr char kVersionSymbol[] = "cgraph_extern_version";
constexpr char kFindSymbol[] = "cgraph_find_method";
constexpr char kImportSymbol[] = "cgraph_python_import";
constexpr char kCallSymbol[] = "cgraph_call_method";
constexpr char kCreateSymbol[] = "cgraph_create_object";
constexpr char kDestroySymbol[] = "cgraph_destroy_object";
constexpr char kCudaSymbol[] = "cgraph_extern_cuda";
constexpr char kSaveSymbol[] = "cgraph_save_object";
constexpr char kRestoreSymbol[] = "cgraph_restore_object";

// The loader finds functions of other libraries, too, those that this one needs: `free`, of libc. A
// program may call those that the user's library has, and no others.
void* OwnSymbol(void* handle, const char* name) {
  void* symbol = dlsym(handle, name);
  link_map *own = nullptr, *owner = nullptr;
  Dl_info info;
  if (symbol == nullptr || dlinfo(handle, RTLD_DI_LINKMAP, &own) != 0 ||
      dladdr1(symbol, &info, reinterpret_cast<void**>(&owner), RTLD_DL_LINKMAP) == 0) {
    return nullptr;
  }
  return own == owner ? symbol : nullptr;
}

Status NoSuchMethod(const std::string& symbol, const std::string& why) {
  return Status(StatusCode::kNotFound, fmt::format("there is no `{}`: {}", symbol, why));
}

}  // namespace

Library::Library(std::string path, void* handle)
    : path_(std::move(path)),
      handle_(handle),
      find_(reinterpret_cast<cgraph_find*>(Symbol(kFindSymbol))) {}

Result<void*> Library::Load(const std::string& path) {
  // With a slash the loader takes the file itself, and looks nowhere else.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return Status(StatusCode::kNotFound,
                  fmt::format("{} cannot be loaded ({})", path, LoaderError(file)));
  }
  using Version = int32_t();
  auto* version = reinterpret_cast<Version*>(OwnSymbol(handle, kVersionSymbol));
  if (version == nullptr) {
    return Status(StatusCode::kInvalid,
                  fmt::format("{} has no methods for cgraph: it does not export {}; include "
                              "cgraph_extern.h and write CGRAPH_EXTERN_LIBRARY once",
                              path, kVersionSymbol));
  }
  if (const int32_t made_for = version(); made_for != CGRAPH_EXTERN_VERSION) {
    return Status(StatusCode::kInvalid,
                  fmt::format("{} is made for version {} of cgraph_extern.h, and this is version "
                              "{}; compile it again",
                              path, made_for, CGRAPH_EXTERN_VERSION));
  }
  return handle;
}

Result<std::unique_ptr<Library>> Library::Open(const std::string& path) {
  auto handle = Load(path);
  if (!handle.ok()) return handle.status();
  return std::unique_ptr<Library>(new Library(path, *handle));
}

void* Library::Symbol(const std::string& name) const { return OwnSymbol(handle_, name.c_str()); }

Status Library::WorksOnGpus(const std::string& symbol) const {
  if (Symbol(kCudaSymbol) != nullptr) return Status::Ok();
  return Status(StatusCode::kUnsupported,
                fmt::format("the methods of {} take tensors in host memory: it does not export {}; "
                            "place the actor of `{}` on a cpu or, where its methods work on a "
                            "GPU's stream, write CGRAPH_EXTERN_CUDA in the library once",
                            path_, kCudaSymbol, symbol));
}

Status Library::Import(const std::string& symbol) const {
  using ImportModule = int32_t(const char* symbol, void (*fail)(void*, const char*), void* error);
  auto* import = reinterpret_cast<ImportModule*>(Symbol(kImportSymbol));
  if (path_ != kPythonLibrary || import == nullptr) return Status::Ok();
  CGRAPH_RETURN_IF_ERROR(Permits(symbol));
  std::string error;
  int32_t what = kImportRaised;  // where an exception leaves the import itself
  const bool failed = Fails(symbol, "the import of its module", 1, error, [&] {
    what = import(symbol.c_str(), SetText, &error);
    return what != 0;
  });
  if (!failed) return Status::Ok();
  if (what != kImportRaised) return NoSuchMethod(symbol, error);
  return Status(StatusCode::kNotFound,
                fmt::format("the module of `{}` cannot be imported: {}", symbol, error));
}

Result<Library::Method> Library::FindMethod(const std::string& symbol) const {
  Method found;
  const std::string named(SymbolInProgram(symbol));
  CGRAPH_RETURN_IF_ERROR(Permits(named));
  if (find_ != nullptr) {
    std::string error;
    const std::string code = fmt::format("`{}` of {}", kFindSymbol, path_);
    const bool failed = Fails(named, code, 1, error, [&] {
      found.method = find_(symbol.c_str(), SetText, &error);
      return found.method == nullptr;
    });
    if (failed) return NoSuchMethod(named, error);
  }
  found.call = reinterpret_cast<cgraph_method*>(Symbol(find_ == nullptr ? symbol : kCallSymbol));
  if (found.call != nullptr) return found;
  return Status(StatusCode::kNotFound,
                fmt::format("{} does not export `{}`; in C++ it is declared extern \"C\"", path_,
                            find_ == nullptr ? symbol : kCallSymbol));
}

cgraph_create* Library::FindCreate(const std::string& actor) const {
  return reinterpret_cast<cgraph_create*>(
      Symbol(find_ == nullptr ? actor + "_create" : kCreateSymbol));
}

cgraph_destroy* Library::FindDestroy(const std::string& actor) const {
  return reinterpret_cast<cgraph_destroy*>(
      Symbol(find_ == nullptr ? actor + "_destroy" : kDestroySymbol));
}

cgraph_save* Library::FindSave(const std::string& actor) const {
  return reinterpret_cast<cgraph_save*>(Symbol(find_ == nullptr ? actor + "_save" : kSaveSymbol));
}

cgraph_restore* Library::FindRestore(const std::string& actor) const {
  return reinterpret_cast<cgraph_restore*>(
      Symbol(find_ == nullptr ? actor + "_restore" : kRestoreSymbol));
}

Status Library::CheckStoring(const std::string& actor) const {
  const bool saves = FindSave(actor) != nullptr;
  if (saves == (FindRestore(actor) != nullptr)) return Status::Ok();
  return Status(StatusCode::kInvalid,
                fmt::format("{0} exports `{1}_{2}` and not `{1}_{3}`: a file of states would be "
                            "written or read, and not both; export both or neither",
                            path_, actor, saves ? "save" : "restore", saves ? "restore" : "save"));
}

Result<const Library*> Libraries::Find(const std::string& name) {
  if (auto found = opened_.find(name); found != opened_.end()) return found->second.get();
  std::vector<std::string> names, modules;
  const std::string* named = nullptr;
  for (const std::string& path : paths_) {
    if (IsPythonModule(path)) {
      modules.push_back(path);
      continue;
    }
    if (const Status status = CheckLibraryPath(path); status.code() == StatusCode::kInvalid) {
      return Status(status.code(), fmt::format("{}: {}", path, status.message()));
    }
    names.push_back(std::filesystem::path(path).filename().string());
    if (names.back() != name) continue;
    std::error_code error;
    if (named != nullptr && !std::filesystem::equivalent(*named, path, error)) {
      return Status(
          StatusCode::kInvalid,
          fmt::format("{} and {} are named, and the plan says `{}`: leave one of them out", *named,
                      path, name));
    }
    named = &path;
  }
  if (name == kPythonLibrary && modules.empty()) {  // no plan starts Python by itself
    return Status(StatusCode::kNotFound,
                  "methods in Python are needed, and no module of theirs was named; cgrun --lib "
                  "PATH/MODULE.py names it, or --lib python:MODULE where it is installed");
  }
  if (name == kPythonLibrary || named != nullptr) {
    auto opened = name == kPythonLibrary ? Library::OpenPython(modules) : Library::Open(*named);
    if (!opened.ok()) return opened.status();
    return (opened_[name] = std::move(*opened)).get();
  }
  const std::string given =
      names.empty() ? "none was named" : fmt::format("named were {}", fmt::join(names, ", "));
  return Status(StatusCode::kNotFound,
                fmt::format("native code of `{}` is needed, and {}{}; cgrun --lib PATH/{} names it",
                            name, given, DidYouMeanHint(name, names), name));
}

}  // namespace cgraph::native
