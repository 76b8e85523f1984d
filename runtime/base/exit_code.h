// Exit codes: what scripts see when a command ends; the same for cgc and cgrun.
#ifndef CGRAPH_RUNTIME_BASE_EXIT_CODE_H_
#define CGRAPH_RUNTIME_BASE_EXIT_CODE_H_

#include "runtime/base/status.h"

namespace cgraph {

enum ExitCode {
  kSuccess = 0,
  kFailure = 1,      // the program or the run failed
  kUsage = 2,        // wrong flags or names
  kEnvironment = 3,  // a file, device or library is absent
  kBug = 70,
  kInterrupted = 130,
};

// Returns the exit code of a command that cannot go on because of a status.
constexpr ExitCode ExitCodeOf(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return kSuccess;
    case StatusCode::kNotFound: return kEnvironment;
    case StatusCode::kInternal: return kBug;
    case StatusCode::kInvalid:
    case StatusCode::kUnsupported:
    case StatusCode::kFailed:
    case StatusCode::kTimeout:
    case StatusCode::kCapacity:
    case StatusCode::kLost:
    case StatusCode::kClosed: break;
  }
  return kFailure;
}

// The line that a command adds when it ends with kBug.
inline constexpr const char* kReportBug =
    "this is a bug of cgraph; please report it with the program that caused it\n";

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_BASE_EXIT_CODE_H_
