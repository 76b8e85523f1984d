// Parts of an argument: the objects in a list, a tuple or a dict that the ports of it are given.
#ifndef CGRAPH_RUNTIME_PYTHON_BINDING_TENSORS_PARTS_H_
#define CGRAPH_RUNTIME_PYTHON_BINDING_TENSORS_PARTS_H_

#include <span>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "runtime/python/binding/tensors/borrow.h"

namespace cgraph::python {

// Returns for each of these ports, which are all that one argument has, the object inside the
// argument. A list is whatever has as many elements; a tuple with names is a dict of these names,
// an object with these attributes, or as many elements in order. Raises InputError where one is
// absent, or where there are more, which nothing would read.
std::vector<nanobind::object> PartsOf(nanobind::handle argument, std::span<const InputPort> ports,
                                      const std::string& graph);

}  // namespace cgraph::python

#endif  // CGRAPH_RUNTIME_PYTHON_BINDING_TENSORS_PARTS_H_
