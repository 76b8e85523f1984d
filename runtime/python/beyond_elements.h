// Objects that mean more than their elements say: read by the buffer protocol or DLPack they would
// be another tensor. Both libraries that read tensors of Python's refuse them.
#ifndef CGRAPH_RUNTIME_PYTHON_BEYOND_ELEMENTS_H_
#define CGRAPH_RUNTIME_PYTHON_BEYOND_ELEMENTS_H_

#include <Python.h>

namespace cgraph::python {

// BeyondElements: what such an object is, and the call of it that makes a tensor without more.
struct BeyondElements {
  const char* what = nullptr;
  const char* mend = nullptr;
  explicit operator bool() const { return what != nullptr; }
};

// Returns whether an object has an attribute of this name; where it is a function, the truth of
// what it returns without arguments. Leaves no error.
inline bool Says(PyObject* object, const char* name, bool is_function) {
  PyObject* found = PyObject_GetAttrString(object, name);
  bool says = found != nullptr && found != Py_None;
  if (says && is_function) {
    PyObject* said = PyCallable_Check(found) != 0 ? PyObject_CallNoArgs(found) : nullptr;
    says = said != nullptr && PyObject_IsTrue(said) == 1;
    Py_XDECREF(said);
  }
  Py_XDECREF(found);
  PyErr_Clear();
  return says;
}

// By what it has, whatever its class: masked arrays are NumPy's, Astropy's and others'.
inline BeyondElements WhatIsMasked(PyObject* object) {
  if (Says(object, "filled", false) && Says(object, "mask", false)) {
    return {"a masked array, whose masked elements are none", "filled(...)"};
  }
  return {};
}

inline BeyondElements WhatIsBeyondElements(PyObject* object) {
  if (const BeyondElements masked = WhatIsMasked(object)) return masked;
  if (Says(object, "is_neg", true)) {  // PyTorch's, as `imag` of a conjugate is
    return {"a tensor whose elements are yet to be negated", "resolve_neg()"};
  }
  return {};
}

}  // namespace cgraph::python

#endif  // CGRAPH_RUNTIME_PYTHON_BEYOND_ELEMENTS_H_
