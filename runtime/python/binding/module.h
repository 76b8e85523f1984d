// What cgraph._runtime offers beside its classes, a file each.
#ifndef CGRAPH_RUNTIME_PYTHON_BINDING_MODULE_H_
#define CGRAPH_RUNTIME_PYTHON_BINDING_MODULE_H_

#include <nanobind/nanobind.h>

namespace cgraph::python {

// States of an engine's actors: copied out and in between executions, one at a time or all as a
// file.
void BindStates(nanobind::module_& module);

// Files that Python writes, as cgc and cgrun write theirs: whole or not at all.
void BindFiles(nanobind::module_& module);

}  // namespace cgraph::python

#endif  // CGRAPH_RUNTIME_PYTHON_BINDING_MODULE_H_
