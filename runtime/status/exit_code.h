// What scripts see when a command ends; the same for cgc and cgrun.
#ifndef CGRAPH_RUNTIME_STATUS_EXIT_CODE_H_
#define CGRAPH_RUNTIME_STATUS_EXIT_CODE_H_

namespace cgraph {

enum ExitCode {
  kSuccess = 0,
  kFailure = 1,      // the program or the run failed
  kUsage = 2,        // wrong flags or names
  kEnvironment = 3,  // a file, device or library is absent
  kBug = 70,
  kInterrupted = 130,
};

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_STATUS_EXIT_CODE_H_
