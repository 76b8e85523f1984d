// Object: what stands for a place's object where runtime/native keeps it.
#ifndef CGRAPH_RUNTIME_PYTHON_METHODS_OBJECT_H_
#define CGRAPH_RUNTIME_PYTHON_METHODS_OBJECT_H_

#include <cstdint>
#include <utility>

#include <cgraph_extern.h>

#include "runtime/python/methods/gpu/call_stream.h"
#include "runtime/python/methods/python_api.h"

namespace cgraph::methods {

struct Object {
  Object(Reference made, DLDevice device) : made(std::move(made)), device(device) {}

  // The number of its GPU as Python's, or None; null with an error set.
  static Reference GpuOf(DLDevice device) {
    if (device.device_type != kDLCUDA) return Reference::To(Py_None);
    return Reference(PyLong_FromLong(device.device_id));
  }

  const Reference made;  // of the user's class; None where its methods are functions
  const DLDevice device;
  const Reference kept{PyDict_New()};  // what autograd has yet to go back through: see autograd.py
  CopiedResults copied;                // on a GPU; ended before what has made them
};

}  // namespace cgraph::methods

#endif  // CGRAPH_RUNTIME_PYTHON_METHODS_OBJECT_H_
