#include "runtime/python/methods/source.h"

#include <fmt/format.h>

#include "runtime/python/methods/dtypes.h"

namespace cgraph::methods {
namespace {

Reference AskForCapsule(PyObject* value, PyObject* keywords) {
  const Reference ask(PyObject_GetAttrString(value, "__dlpack__"));
  const Reference nothing(PyTuple_New(0));
  return Reference(ask && nothing ? PyObject_Call(ask.get(), nothing.get(), keywords) : nullptr);
}

}  // namespace

Source Source::Of(const DLTensor& tensor) {
  Source source{static_cast<const char*>(cgraph_data(&tensor)), tensor.dtype, {}, {}};
  const int64_t bytes = tensor.dtype.bits / 8;
  source.shape.assign(tensor.shape, tensor.shape + tensor.ndim);
  source.strides.resize(source.shape.size());
  int64_t stride = bytes;
  for (size_t d = source.shape.size(); d-- > 0; stride *= source.shape[d]) {
    source.strides[d] = tensor.strides != nullptr ? tensor.strides[d] * bytes : stride;
  }
  return source;
}

bool Source::IsDense() const {
  int64_t stride = type.bits / 8;
  bool dense = true;
  for (size_t d = shape.size(); d-- > 0; stride *= shape[d]) {
    dense = dense && (strides[d] == stride || shape[d] == 1);
  }
  return dense || stride == 0;
}

std::string TypeText(DLDataType type, const int64_t* shape, size_t rank) {
  const DType* dtype = FindDType(type);
  std::string text = dtype != nullptr ? dtype->name : "a type of its own";
  for (size_t d = 0; d < rank; ++d) text += fmt::format("{}{}", d == 0 ? "[" : ", ", shape[d]);
  return rank == 0 ? text : text + "]";
}

std::string TypeName(PyObject* value) {
  const Reference name(
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(value)), "__name__"));
  const char* text = name ? PyUnicode_AsUTF8AndSize(name.get(), nullptr) : nullptr;
  PyErr_Clear();
  return text != nullptr ? text : "something";
}

std::string Misfit(const Source& from, const DLTensor& to, bool has_buffer) {
  const auto rank = static_cast<size_t>(to.ndim);
  const bool same_type =
      from.type.code == to.dtype.code && from.type.bits == to.dtype.bits && from.type.lanes == 1;
  bool fits = same_type && from.shape.size() == rank;
  for (size_t d = 0; fits && d < rank; ++d) fits = from.shape[d] == to.shape[d];
  if (fits) return "";
  const std::string numpy = NumpyConversion(to.dtype);
  const std::string mend =
      same_type    ? ""
      : has_buffer ? fmt::format("; return {}", numpy)
                   : fmt::format("; return {}, of PyTorch {}", numpy, TorchConversion(to.dtype));
  return fmt::format("is {} and was declared as {}{}",
                     TypeText(from.type, from.shape.data(), from.shape.size()),
                     TypeText(to.dtype, to.shape, rank), mend);
}

// Returns a tensor of PyTorch's that is the negative of its memory as one that is what lies there,
// since DLPack does not say it; any other value as it is. Null with an error set.
Reference Resolved(PyObject* value) {
  if (PyObject_HasAttrString(value, "resolve_neg") == 0) return Reference::To(value);
  return Reference(PyObject_CallMethod(value, "resolve_neg", nullptr));
}

Reference CapsuleOf(PyObject* given, PyObject* keywords) {
  const Reference resolved = Resolved(given);
  PyObject* const value = resolved.get();
  if (value == nullptr) return Reference();
  Reference capsule = AskForCapsule(value, keywords);
  if (capsule) return capsule;
  PyObject *type, *error, *traceback;
  PyErr_Fetch(&type, &error, &traceback);  // which a look for an attribute would lose
  if (PyObject_HasAttrString(value, "detach") == 0) {
    PyErr_Restore(type, error, traceback);
    return capsule;
  }
  Py_XDECREF(type);
  Py_XDECREF(error);
  Py_XDECREF(traceback);
  const Reference detached(PyObject_CallMethod(value, "detach", nullptr));
  return detached ? AskForCapsule(detached.get(), keywords) : Reference();
}

}  // namespace cgraph::methods
