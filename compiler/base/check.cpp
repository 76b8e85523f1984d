#include "compiler/base/check.h"

#include <cstdlib>

#include "llvm/Support/raw_ostream.h"
#include "runtime/base/exit_code.h"

namespace cgraph {

void CheckFailed(llvm::StringRef phase, llvm::StringRef message, const char* file, int line) {
  InternalError error("internal error in phase '" + phase.str() + "': " + message.str() +
                      "\n  at " + file + ":" + std::to_string(line) + "\n" + kReportBug);
#ifdef CGRAPH_FUZZ
  llvm::errs() << error.what();  // a fuzzer looks for what ends the process
  llvm::errs().flush();
  std::abort();
#endif
  throw error;
}

}  // namespace cgraph
