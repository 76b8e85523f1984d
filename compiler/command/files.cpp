#include "compiler/command/files.h"

#include "compiler/command/messages.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/status/text_file.h"

namespace cgraph::command {

bool WritesOver(const std::string& out, const std::string& in) {
  if (!llvm::sys::fs::equivalent(out, in)) return false;
  UsageError("-o " + out + " is the file that is read; name another one");
  return true;
}

Status WriteOutput(const std::string& path, const std::string& text) {
  if (!path.empty() && path != "-") return WriteText(path, text);
  llvm::outs() << text;
  return Status::Ok();
}

}  // namespace cgraph::command
