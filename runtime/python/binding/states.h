// States of an engine's actors for Python: copied out and in between executions, one at a time or
// all as a file.
#ifndef CGRAPH_RUNTIME_PYTHON_BINDING_STATES_H_
#define CGRAPH_RUNTIME_PYTHON_BINDING_STATES_H_

#include <nanobind/nanobind.h>

namespace cgraph::python {

void BindStates(nanobind::module_& module);

}  // namespace cgraph::python

#endif  // CGRAPH_RUNTIME_PYTHON_BINDING_STATES_H_
