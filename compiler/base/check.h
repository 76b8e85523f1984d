// CGRAPH_CHECK(condition, phase, message): what must hold unless cgraph itself has a bug.
//
// Neither a diagnostic (the user's program is wrong) nor a Status (a file or a device is): a failed
// check prints the phase and the message, asks for a report, and ends the process with exit code
// kBug. `message` is evaluated only when the check fails, so it may build a string.
#ifndef CGRAPH_COMPILER_BASE_CHECK_H_
#define CGRAPH_COMPILER_BASE_CHECK_H_

#include "llvm/ADT/StringRef.h"

namespace cgraph {

[[noreturn]] void CheckFailed(llvm::StringRef phase, llvm::StringRef message, const char* file,
                              int line);

}  // namespace cgraph

#define CGRAPH_CHECK(condition, phase, message)                            \
  do {                                                                     \
    if (!(condition)) {                                                    \
      ::cgraph::CheckFailed((phase), (message), __FILE__, __LINE__);       \
    }                                                                      \
  } while (false)

#endif  // CGRAPH_COMPILER_BASE_CHECK_H_
