// WithoutGil: gives the interpreter's lock up for its lifetime.
//
// A daemon thread may be inside when the interpreter ends. Before CPython 3.14 taking the lock then
// ends the thread by unwinding its stack, which no destructor of ours expects: it stands still
// instead, until the process is gone.
#ifndef CGRAPH_RUNTIME_PYTHON_BINDING_WITHOUT_GIL_H_
#define CGRAPH_RUNTIME_PYTHON_BINDING_WITHOUT_GIL_H_

#include <sys/syscall.h>
#include <unistd.h>

#include <nanobind/nanobind.h>

namespace cgraph::python {

class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  WithoutGil(const WithoutGil&) = delete;
  ~WithoutGil() {
    try {
      PyEval_RestoreThread(state_);
    } catch (...) {  // the unwinding; it would go on at the end of this block
      for (;;) pause();
    }
  }

 private:
  PyThreadState* const state_;
};

// Signals: Python runs their handlers on the main thread, when that thread asks it to. A wait there
// asks from time to time, so that Ctrl-C ends it.

inline bool OnMainThread() {
  static thread_local const bool on = syscall(SYS_gettid) == getpid();
  return on;
}

// Runs Python's handlers of the signals that have come; raises what they raise. With the GIL.
inline void CheckSignals() {
  if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

}  // namespace cgraph::python

#endif  // CGRAPH_RUNTIME_PYTHON_BINDING_WITHOUT_GIL_H_
