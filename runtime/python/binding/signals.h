// Signals: Python runs their handlers on the main thread, when that thread asks it to. A wait there
// asks from time to time, so that Ctrl-C ends it.
#ifndef CGRAPH_RUNTIME_PYTHON_BINDING_SIGNALS_H_
#define CGRAPH_RUNTIME_PYTHON_BINDING_SIGNALS_H_

#include <sys/syscall.h>
#include <unistd.h>

#include <nanobind/nanobind.h>

namespace cgraph::python {

inline bool OnMainThread() {
  static thread_local const bool on = syscall(SYS_gettid) == getpid();
  return on;
}

// Runs Python's handlers of the signals that have come; raises what they raise. With the GIL.
inline void CheckSignals() {
  if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

}  // namespace cgraph::python

#endif  // CGRAPH_RUNTIME_PYTHON_BINDING_SIGNALS_H_
