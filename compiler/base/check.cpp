#include "compiler/base/check.h"

#include <cstdlib>

#include "llvm/Support/raw_ostream.h"

namespace cgraph {

void CheckFailed(llvm::StringRef phase, llvm::StringRef message, const char* file, int line) {
  llvm::outs().flush();
  llvm::errs() << "cgc: internal error in phase '" << phase << "': " << message << "\n  at "
               << file << ":" << line
               << "\nthis is a bug of cgraph; please report it with the program that caused it\n";
  llvm::errs().flush();
#ifdef CGRAPH_FUZZ
  std::abort();  // a fuzzer would not see an exit
#endif
  std::_Exit(kExitBug);
}

}  // namespace cgraph
