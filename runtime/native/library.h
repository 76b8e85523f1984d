// Library: a shared library with methods in native code, as cgraph_extern.h says what it exports.
#ifndef CGRAPH_RUNTIME_NATIVE_LIBRARY_H_
#define CGRAPH_RUNTIME_NATIVE_LIBRARY_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <cgraph_extern.h>

#include "runtime/base/status.h"

namespace cgraph::native {

// The function `fail` that native code is given; `error` is a std::string.
inline void SetText(void* error, const char* text) {
  if (text != nullptr) *static_cast<std::string*>(error) = text;
}

class Library {
 public:
  // kNotFound when the file cannot be loaded; kInvalid when it is no such library, or of another
  // version. A library is never unloaded: threads and handlers of its own may outlive an engine.
  static Result<std::unique_ptr<Library>> Open(const std::string& path);
  // Methods in Python, of these modules alone: files "x/stages.py", folders of packages, or
  // "python:stages", which the interpreter finds. kNotFound, too, where there is no Python or no
  // such module.
  static Result<std::unique_ptr<Library>> OpenPython(const std::vector<std::string>& modules);

  // Whether a plan may call what the symbol names. kNotFound where that is a module of Python that
  // the user has not named.
  Status Permits(const std::string& symbol) const;
  // Imports the Python module that the symbol names; other libraries have nothing to import. Fails
  // as FindMethod() does, which imports it as well.
  Status Import(const std::string& symbol) const;
  // kUnsupported, with what to do, where the library's methods take tensors in host memory alone;
  // `symbol`: of the one that is wanted.
  Status WorksOnGpus(const std::string& symbol) const;
  // A method: the function to call, and what it is given as `method`.
  struct Method {
    cgraph_method* call = nullptr;
    void* method = nullptr;
  };
  // kNotFound, with what the library has instead where that is known.
  Result<Method> FindMethod(const std::string& symbol) const;
  // What makes and ends the objects of an actor; null where the library has none for it.
  cgraph_create* FindCreate(const std::string& actor) const;
  cgraph_destroy* FindDestroy(const std::string& actor) const;
  // What saves and restores them. Of a library that exports one alone for an actor, see
  // CheckStoring().
  cgraph_save* FindSave(const std::string& actor) const;
  cgraph_restore* FindRestore(const std::string& actor) const;
  // kInvalid where an actor's objects can be saved and not restored, or the other way round.
  Status CheckStoring(const std::string& actor) const;
  // Whether it finds methods by itself, as an interpreter does.
  bool is_interpreter() const { return find_ != nullptr; }

  const std::string& path() const { return path_; }

 private:
  Library(std::string path, void* handle);
  static Result<void*> Load(const std::string& path);
  void* Symbol(const std::string& name) const;
  std::string MeantModule(const std::string& symbol) const;

  std::string path_;
  void* handle_;
  cgraph_find* find_ = nullptr;  // of a library that finds methods by itself
  // Of the library `python`: the modules that may be used, and the user's name for each.
  std::vector<std::string> packages_, named_;
};

// Whether what the user has named is a module of Python: "python:NAME", a file "NAME.py", or the
// folder of a package, which has an __init__.py. Everything else is a shared library. This is the
// one rule, for cgrun, the engine and the Python package.
bool IsPythonModule(const std::string& path);
// kNotFound where the user has named what is not there, kInvalid where it is a folder that is no
// package; the message does not name the path.
Status CheckLibraryPath(const std::string& path);

// Libraries: those that the user has named. A plan names a library by its file name alone, so that
// no plan decides which file is loaded.
class Libraries {
 public:
  explicit Libraries(std::vector<std::string> paths) : paths_(std::move(paths)) {}

  // Opens the library of that file name once. kNotFound where none was named.
  Result<const Library*> Find(const std::string& name);

 private:
  std::vector<std::string> paths_;
  std::map<std::string, std::unique_ptr<Library>> opened_;
};

}  // namespace cgraph::native

#endif  // CGRAPH_RUNTIME_NATIVE_LIBRARY_H_
