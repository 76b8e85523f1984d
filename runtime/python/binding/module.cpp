// cgraph._runtime: the engine for Python. What it offers is described in cgraph/_runtime.pyi.
#include <nanobind/nanobind.h>

#include "runtime/python/binding/calls.h"
#include "runtime/python/binding/engine_handle.h"
#include "runtime/python/binding/errors.h"
#include "runtime/python/binding/forks.h"
#include "runtime/python/binding/module.h"
#include "runtime/python/binding/plan_handle.h"
#include "runtime/python/binding/tensors/array.h"

// What Python calls is not nanobind's own function but the one at the end of this file, which may
// refuse before nanobind makes anything.
#define PyInit__runtime PyInit_of_nanobind
NB_MODULE(_runtime, module) {
  module.doc() = "The engine of cgraph, for the package `cgraph`.";
  // Daemon threads may hold anything when the interpreter ends.
  nanobind::set_leak_warnings(false);
  cgraph::python::CountForks();
  cgraph::python::BindArray(module);
  cgraph::python::BindPlan(module);
  cgraph::python::BindEngine(module);
  cgraph::python::BindCalls(module);
  cgraph::python::BindStates(module);
  cgraph::python::BindFiles(module);
  cgraph::python::BindErrors(module);
}
#undef PyInit__runtime

// Threads of an engine call Python by the main interpreter's states, and a subinterpreter that
// waits for them would wait for ever.
extern "C" NB_EXPORT PyObject* PyInit__runtime() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return PyInit_of_nanobind();
  PyErr_SetString(PyExc_ImportError,
                  "cgraph works in the main interpreter of a process, and this is a "
                  "subinterpreter; import it there, or use a process instead");
  return nullptr;
}
