#include "compiler/driver/compile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace cgraph {

std::string LibraryDir() {
  // In an installation bin/cgc is beside share/cgraph/stdlib. Otherwise the source tree is the one
  // that it was built from.
  const std::string executable = llvm::sys::fs::getMainExecutable(nullptr, nullptr);
  llvm::SmallString<256> installed(llvm::sys::path::parent_path(executable));
  llvm::sys::path::append(installed, "..", "share", "cgraph", "stdlib");
  if (llvm::sys::fs::is_directory(installed)) return installed.str().str();
  return CGRAPH_LIBRARY_DIR;
}

std::string LibraryFile(const std::string& shown) {
  llvm::StringRef name(shown);
  name.consume_front("<std>/");
  llvm::SmallString<256> file(LibraryDir());
  if (llvm::sys::path::parent_path(name).empty()) llvm::sys::path::append(file, "std");
  llvm::sys::path::append(file, name);
  return file.str().str();
}

}  // namespace cgraph
