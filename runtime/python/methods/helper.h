// What the library does in Python (helper.py), and errors as texts. All with the interpreter's
// lock.
#ifndef CGRAPH_RUNTIME_PYTHON_METHODS_HELPER_H_
#define CGRAPH_RUNTIME_PYTHON_METHODS_HELPER_H_

#include <string>

#include <cgraph_extern.h>

#include "runtime/python/methods/python_api.h"

namespace cgraph::methods {

// Loads helper.py once. `is_ours`: the interpreter was begun by this library.
bool LoadHelper(bool is_ours);

// Returns a function of helper.py.
PyObject* HelperFunction(const char* name);
// Calls it; null with an error set, as where an argument is null.
template <typename... References>
Reference CallHelper(const char* name, const References&... arguments) {
  if (!(static_cast<bool>(arguments) && ...)) return Reference();
  return Reference(PyObject_CallFunctionObjArgs(HelperFunction(name), arguments.get()..., nullptr));
}

// Returns what is known when a plan is compiled as a dict, by names; null with an error set.
Reference MakeParameters(const cgraph_parameter* parameters, int32_t count);
// Returns one of them as a value of Python's.
PyObject* MakeParameter(const cgraph_parameter& parameter);

// Returns the error that Python has set, with its traceback, and clears it.
std::string TakeError();

}  // namespace cgraph::methods

#endif  // CGRAPH_RUNTIME_PYTHON_METHODS_HELPER_H_
