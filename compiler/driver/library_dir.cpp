#include "compiler/driver/library_dir.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace cgraph {

std::string LibraryDir() {
  // Installed: bin/cgc beside share/cgraph/stdlib. Otherwise the source tree it was built from.
  const std::string executable = llvm::sys::fs::getMainExecutable(nullptr, nullptr);
  llvm::SmallString<256> installed(llvm::sys::path::parent_path(executable));
  llvm::sys::path::append(installed, "..", "share", "cgraph", "stdlib");
  if (llvm::sys::fs::is_directory(installed)) return installed.str().str();
  return CGRAPH_LIBRARY_DIR;
}

}  // namespace cgraph
