// A call of a method in Python.
#ifndef CGRAPH_RUNTIME_PYTHON_METHODS_CALL_H_
#define CGRAPH_RUNTIME_PYTHON_METHODS_CALL_H_

#include <string>

#include <cgraph_extern.h>
#include "runtime/python/methods/python_api.h"

namespace cgraph::methods {

struct Method;

// Makes a method of what `find` of helper.py has found; it is never ended.
Method* MakeMethod(PyObject* found);

// Calls it, with the interpreter's lock. Returns an empty text, or why it has failed.
std::string Call(Method& method, const cgraph_call& call);

}  // namespace cgraph::methods

#endif  // CGRAPH_RUNTIME_PYTHON_METHODS_CALL_H_
