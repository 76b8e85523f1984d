// WithoutGil: gives the interpreter's lock up for its lifetime.
//
// A daemon thread may be inside when the interpreter ends. Before CPython 3.14 taking the lock then
// ends the thread by unwinding its stack, which no destructor of ours expects: it stands still
// instead, until the process is gone.
#ifndef CGRAPH_RUNTIME_PYTHON_BINDING_WITHOUT_GIL_H_
#define CGRAPH_RUNTIME_PYTHON_BINDING_WITHOUT_GIL_H_

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

}  // namespace cgraph::python

#endif  // CGRAPH_RUNTIME_PYTHON_BINDING_WITHOUT_GIL_H_
