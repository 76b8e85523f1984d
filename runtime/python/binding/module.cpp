// cgraph._runtime: the engine for Python. What it offers is described in cgraph/_runtime.pyi.
#include <nanobind/nanobind.h>

#include "runtime/python/binding/tensors/array.h"
#include "runtime/python/binding/calls.h"
#include "runtime/python/binding/engine_handle.h"
#include "runtime/python/binding/files.h"
#include "runtime/python/binding/forks.h"
#include "runtime/python/binding/plan_handle.h"
#include "runtime/python/binding/states.h"

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
}
