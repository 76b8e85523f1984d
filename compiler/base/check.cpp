#include "compiler/base/check.h"

#include <cstdlib>

#include "llvm/Support/raw_ostream.h"
#include "runtime/status/exit_code.h"

namespace cgraph {

void CheckFailed(llvm::StringRef phase, llvm::StringRef message, const char* file, int line) {
  llvm::outs().flush();
  llvm::errs() << "cgc: internal error in phase '" << phase << "': " << message << "\n  at "
               << file << ":" << line << "\n" << kReportBug;
  llvm::errs().flush();
#ifdef CGRAPH_FUZZ
  std::abort();  // a fuzzer would not see an exit
#endif
  std::_Exit(kBug);
}

}  // namespace cgraph
