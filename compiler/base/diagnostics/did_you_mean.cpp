// Spelling help with LLVM's strings; how it works is in runtime/status, for both commands.
#include "compiler/base/diagnostics/diagnostics.h"
#include "runtime/status/spelling.h"

namespace cgraph {

size_t EditDistance(llvm::StringRef a, llvm::StringRef b) {
  return EditDistance(std::string_view(a), std::string_view(b));
}

std::string DidYouMean(llvm::StringRef name, llvm::ArrayRef<std::string> candidates) {
  return DidYouMean(std::string_view(name),
                    std::span<const std::string>(candidates.data(), candidates.size()));
}

}  // namespace cgraph
