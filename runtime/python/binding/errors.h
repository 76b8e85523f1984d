// Errors: a Status as an exception of cgraph.errors, by its code and by what was being done.
#ifndef CGRAPH_RUNTIME_PYTHON_BINDING_ERRORS_H_
#define CGRAPH_RUNTIME_PYTHON_BINDING_ERRORS_H_

#include <string>

#include <nanobind/nanobind.h>

#include "runtime/base/status.h"

namespace cgraph::python {

enum class During { kLoad, kSubmit, kExecution };

// Takes what a method, or other code of the user's, has raised in this process, of which a status
// is the text. None: it comes from elsewhere. Where Ctrl-C on the main thread has raised it, that
// is raised again.
nanobind::object TakeCause(const Status& status);
// All of these hold the GIL, and throw nanobind::python_error. `cause`: the error's `__cause__`, or
// None. Where Ctrl-C has ended a wait, what it has raised goes first.
[[noreturn]] void RaiseStatus(const Status& status, During during, nanobind::handle cause);
[[noreturn]] void RaiseStatus(const Status& status, During during);
// `name`: of a class in cgraph.errors.
[[noreturn]] void Raise(const char* name, const std::string& message);
[[noreturn]] void RaiseBuiltin(PyObject* type, const std::string& message);
// A message as Python's text, printable. A long one may have been cut inside a character.
nanobind::object TextOf(const std::string& message);

void BindErrors(nanobind::module_& module);

}  // namespace cgraph::python

#endif  // CGRAPH_RUNTIME_PYTHON_BINDING_ERRORS_H_
