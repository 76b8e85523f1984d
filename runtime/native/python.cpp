// Methods in Python: libcgraph_python.so calls them, by the interpreter that is in the process, or
// else by the shared library of the `python3` that PATH has first. So an environment that is active
// is the one that methods run in.
#include <dlfcn.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/base/files.h"
#include "runtime/base/kinds/native.h"
#include "runtime/base/library_path.h"
#include "runtime/base/text.h"
#include "runtime/native/guarded.h"
#include "runtime/native/library.h"

namespace cgraph::native {
namespace {

constexpr char kBridge[] = "libcgraph_python.so";
constexpr char kOpenSymbol[] = "cgraph_python_open";
constexpr int kOldestMinor = 11;  // of version 3: the C API that the library uses
constexpr char kInstalled[] = "python:";  // before the name of a module that no file names

// Prints, a line each: the program itself, its version, the shared library, and whether that is
// there.
constexpr char kQuestion[] =
    "exec python3 -IS -c 'import os, sys, sysconfig\n"
    "v = sysconfig.get_config_vars()\n"
    "names = [v.get(k) for k in (\"INSTSONAME\", \"LDLIBRARY\")]\n"
    "short = \"libpython%d.%d.so\" % sys.version_info[:2]\n"
    "names = [n for n in names if n and \".so\" in n] + [short + \".1.0\", short]\n"
    "folders = [v.get(\"LIBDIR\"), os.path.join(sys.base_prefix, \"lib\")]\n"
    "paths = [os.path.join(f, n) for f in folders if f for n in names]\n"
    "found = [p for p in paths if os.path.exists(p)]\n"
    "print(sys.executable, \"%d.%d\" % sys.version_info[:2], (found + paths)[0],\n"
    "      len(found), sep=\"\\n\")' 2>/dev/null";

struct Interpreter {
  std::string program, version, library;
  bool is_there = false;
};

Status NoPython(const std::string& why) {
  return Status(StatusCode::kNotFound,
                "methods in Python need Python 3.11 or newer with its shared library: " + why);
}

Result<Interpreter> AskInterpreter() {
  std::unique_ptr<FILE, int (*)(FILE*)> answer(popen(kQuestion, "re"), pclose);
  std::vector<std::string> lines;
  for (char line[4096]; answer != nullptr && fgets(line, sizeof line, answer.get()) != nullptr;) {
    lines.emplace_back(line);
    while (lines.back().ends_with('\n')) lines.back().pop_back();
  }
  if (lines.size() == 4) return Interpreter{lines[0], lines[1], lines[2], lines[3] != "0"};
  const char* path = getenv("PATH");
  return NoPython(
      fmt::format("PATH ({}) has no `python3` that runs; activate an environment that "
                  "has one, or install it (Debian: python3, libpython3.11)",
                  path == nullptr ? "unset" : path));
}

// Brings an interpreter into a process that has none; returns the program that it stands for.
Result<std::string> LoadInterpreter() {
  if (dlsym(RTLD_DEFAULT, "Py_IsInitialized") != nullptr) return std::string();
  auto found = AskInterpreter();
  if (!found.ok()) return found.status();
  const auto& [program, version, library, is_there] = *found;
  if (int minor = 0; sscanf(version.c_str(), "3.%d", &minor) != 1 || minor < kOldestMinor) {
    return NoPython(fmt::format("{}, the first `python3` in PATH, is Python {}; activate an "
                                "environment of a newer one",
                                program, version));
  }
  if (!is_there) {
    return NoPython(
        fmt::format("{} (Python {}) has none at {}; install it (Debian: libpython{}), "
                    "or run the plan from Python (cgraph.Engine), which needs none",
                    program, version, library, version));
  }
  if (dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    return NoPython(fmt::format("{} cannot be loaded ({})", library, LoaderError(library)));
  }
  return program;
}

std::string ModuleName(const std::string& path) {
  if (path.starts_with(kInstalled)) {  // of "python:package.module" the package
    const std::string name = path.substr(sizeof kInstalled - 1);
    return name.substr(0, name.find('.'));
  }
  const std::filesystem::path file = std::filesystem::absolute(path).lexically_normal();
  return (file.has_filename() ? file : file.parent_path()).stem().string();
}

}  // namespace

bool IsPythonModule(const std::string& path) {
  std::error_code error;
  return path.starts_with(kInstalled) || path.ends_with(".py") ||
         std::filesystem::exists(std::filesystem::path(path) / "__init__.py", error);
}

Status CheckLibraryPath(const std::string& path) {
  std::error_code error;
  if (path.starts_with(kInstalled) || std::filesystem::is_regular_file(path, error)) {
    return Status::Ok();
  }
  if (!std::filesystem::exists(path, error)) {
    return {StatusCode::kNotFound, "there is no such file" + NearFileHint(path, {".py", ".so"})};
  }
  if (!std::filesystem::is_directory(path, error) || IsPythonModule(path)) return Status::Ok();
  return {StatusCode::kInvalid, fmt::format("it is a folder, and a library's own path is wanted: "
                                            "{}/libmine.so, or a package of Python's, which has an "
                                            "__init__.py",
                                            path)};
}

// Says which module of those that were named a symbol was meant to be of: where it names a module
// of a package that was named, without the package; or the package of a file that was named itself.
std::string Library::MeantModule(const std::string& symbol) const {
  const auto read = ReadPythonSymbol(symbol);
  if (!read) return "";
  const std::string member = symbol.substr(read->module.size());
  std::string path(read->module);
  std::replace(path.begin(), path.end(), '.', '/');
  const std::string last(read->module.substr(read->module.rfind('.') + 1));
  for (size_t i = 0; i < packages_.size(); ++i) {
    std::error_code error;
    if (last == packages_[i]) {
      return fmt::format(" ({} is the module {} by itself: did you mean \"{}{}{}\"?)", named_[i],
                         last, kInstalled, last, member);
    }
    const std::filesystem::path folder(named_[i]);
    if (std::filesystem::exists(folder / (path + ".py"), error) ||
        std::filesystem::exists(folder / path / "__init__.py", error)) {
      return fmt::format(" ({} is a package that has it: did you mean \"{}{}.{}{}\"?)", named_[i],
                         kInstalled, packages_[i], read->module, member);
    }
  }
  return DidYouMeanHint(std::string(read->package()), packages_);
}

Status Library::Permits(const std::string& symbol) const {
  if (path_ != kPythonLibrary) return Status::Ok();
  const auto read = ReadPythonSymbol(symbol);
  const std::string package(read ? read->package() : "");
  if (std::find(packages_.begin(), packages_.end(), package) != packages_.end()) {
    return Status::Ok();
  }
  return Status(
      StatusCode::kNotFound,
      fmt::format("`{}` is of the Python module {}, and named were {}{}; cgrun --lib PATH/{}.py "
                  "names it, or --lib {}{} where it is installed",
                  symbol, package, fmt::join(packages_, ", "), MeantModule(symbol), package,
                  kInstalled, package));
}

Result<std::unique_ptr<Library>> Library::OpenPython(const std::vector<std::string>& modules) {
  static std::mutex one_at_a_time;
  std::lock_guard lock(one_at_a_time);
  auto program = LoadInterpreter();
  if (!program.ok()) return program.status();
  const std::string bridge = FindLibrary(kBridge);
  if (bridge.find('/') == std::string::npos) {
    return Status(StatusCode::kNotFound,
                  fmt::format("methods in Python need {}, which is not at {}; build cgraph where "
                              "Python's headers are (scripts/setup installs them)",
                              kBridge, WhereLooked(kBridge)));
  }
  auto handle = Load(bridge);
  if (!handle.ok()) return handle.status();
  std::unique_ptr<Library> library(new Library(kPythonLibrary, *handle));
  for (const std::string& module : modules) library->packages_.push_back(ModuleName(module));
  library->named_ = modules;
  using OpenModules = int32_t(const char* program, const char* const* modules, int32_t count,
                              void (*fail)(void*, const char*), void* error);
  auto* open = reinterpret_cast<OpenModules*>(library->Symbol(kOpenSymbol));
  std::vector<const char*> paths;
  for (const std::string& module : modules) paths.push_back(module.c_str());
  std::string error;
  const bool failed = open == nullptr || Fails("the plan", "the start of Python", 1, error, [&] {
                        return open(program->c_str(), paths.data(),
                                    static_cast<int32_t>(paths.size()), SetText, &error) != 0;
                      });
  if (!failed) return library;
  return Status(StatusCode::kNotFound, fmt::format("Python: {}", error));
}

}  // namespace cgraph::native
