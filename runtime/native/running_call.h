// RunningCall: the native code that a thread is inside, for a message when it crashes there.
#ifndef CGRAPH_RUNTIME_NATIVE_RUNNING_CALL_H_
#define CGRAPH_RUNTIME_NATIVE_RUNNING_CALL_H_

namespace cgraph::native {

// Sets, for its lifetime, what this thread is inside: the place "a[0]", and the code "`apply` of
// libscale.so". The thread gets a stack of its own for signals, since native code may have used up
// the usual one.
class RunningCall {
 public:
  RunningCall(const char* place, const char* code);
  ~RunningCall();
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;

 private:
  const char *const place_before_, *const code_before_;  // of the call that has begun this one
};

// Whether this thread is inside native code.
bool IsInsideCall();

// Makes the process say, before it dies of SIGSEGV, SIGBUS, SIGFPE, SIGILL or SIGABRT inside native
// code, which code it was, on standard error. It dies of the signal all the same. Native code that
// calls exit() is said, too, and ends the process with a failure. For programs that own their
// process; handlers that others set later win.
void ReportCrashes();

}  // namespace cgraph::native

#endif  // CGRAPH_RUNTIME_NATIVE_RUNNING_CALL_H_
