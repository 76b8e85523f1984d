// CGRAPH_CHECK(condition, phase, message): what must hold unless cgraph itself has a bug.
//
// Neither a diagnostic (the user's program is wrong) nor a Status (a file or a device is): a failed
// check throws InternalError. The library ends no process: the commands print the phase and the
// message, ask for a report and exit with kBug, and a program that embeds the compiler (a language
// server, a Python module) catches it, forgets that compilation and goes on. `message` is evaluated
// only when the check fails, so it may build a string.
#ifndef CGRAPH_COMPILER_BASE_CHECK_H_
#define CGRAPH_COMPILER_BASE_CHECK_H_

#include <stdexcept>
#include <string>

#include "llvm/ADT/StringRef.h"

namespace cgraph {

class InternalError : public std::logic_error {
 public:
  // what(): "internal error in phase 'prove': ...", then where, and that a report is asked for.
  using std::logic_error::logic_error;
};

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
