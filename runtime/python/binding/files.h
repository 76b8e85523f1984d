// Files that Python writes, as cgc and cgrun write theirs: whole or not at all.
#ifndef CGRAPH_RUNTIME_PYTHON_BINDING_FILES_H_
#define CGRAPH_RUNTIME_PYTHON_BINDING_FILES_H_

#include <nanobind/nanobind.h>

namespace cgraph::python {

void BindFiles(nanobind::module_& module);

}  // namespace cgraph::python

#endif  // CGRAPH_RUNTIME_PYTHON_BINDING_FILES_H_
