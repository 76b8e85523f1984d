// The C API of Python, its stable part: one library of ours serves every CPython from 3.11 on.
#ifndef CGRAPH_RUNTIME_PYTHON_METHODS_PYTHON_API_H_
#define CGRAPH_RUNTIME_PYTHON_METHODS_PYTHON_API_H_

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <utility>

namespace cgraph::methods {

// Reference: an object of Python's that is held. All of it is used with the interpreter's lock.
class Reference {
 public:
  Reference() = default;
  explicit Reference(PyObject* owned) : object_(owned) {}  // takes over one reference; may be null
  Reference(Reference&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Reference& operator=(Reference&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Reference() { Py_XDECREF(object_); }

  // Makes a second reference to an object that another reference holds.
  static Reference To(PyObject* borrowed) {
    Py_XINCREF(borrowed);
    return Reference(borrowed);
  }

  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

}  // namespace cgraph::methods

#endif  // CGRAPH_RUNTIME_PYTHON_METHODS_PYTHON_API_H_
