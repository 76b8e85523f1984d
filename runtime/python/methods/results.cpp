#include "runtime/python/methods/results.h"

#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "runtime/python/methods/dtypes.h"

namespace cgraph::methods {
namespace {

// Source: a tensor of somebody else's, to be copied. Strides are in bytes.
struct Source {
  const char* data = nullptr;
  DLDataType type{};
  std::vector<int64_t> shape, strides;
};

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

// Copies the elements of dimension `d` and those behind it; returns where the next ones go.
char* Copy(const Source& from, size_t d, const char* at, char* to) {
  const size_t bytes = from.type.bits / 8;
  if (d == from.shape.size()) {
    std::memcpy(to, at, bytes);
    return to + bytes;
  }
  if (d + 1 == from.shape.size() && from.strides[d] == static_cast<int64_t>(bytes)) {
    std::memcpy(to, at, bytes * from.shape[d]);
    return to + bytes * from.shape[d];
  }
  for (int64_t i = 0; i < from.shape[d]; ++i, at += from.strides[d]) to = Copy(from, d + 1, at, to);
  return to;
}

std::string CopyTensor(const Source& from, const DLTensor& to) {
  const auto rank = static_cast<size_t>(to.ndim);
  const bool same_type =
      from.type.code == to.dtype.code && from.type.bits == to.dtype.bits && from.type.lanes == 1;
  bool fits = same_type && from.shape.size() == rank;
  for (size_t d = 0; fits && d < rank; ++d) fits = from.shape[d] == to.shape[d];
  if (!fits) {
    return fmt::format("is {} and was declared as {}",
                       TypeText(from.type, from.shape.data(), from.shape.size()),
                       TypeText(to.dtype, to.shape, rank));
  }
  // One that is as long and in no other order is copied at once: rows of rows are one row.
  int64_t stride = to.dtype.bits / 8;
  bool dense = true;
  for (size_t d = rank; d-- > 0; stride *= to.shape[d]) {
    dense = dense && (from.strides[d] == stride || to.shape[d] == 1);
  }
  char* target = static_cast<char*>(cgraph_data(&to));
  if (cgraph_size(&to) == 0 || (dense && target == from.data)) return "";  // is where it belongs
  if (dense) {
    std::memmove(target, from.data, static_cast<size_t>(stride));
    return "";
  }
  // It may be a view of the result's own memory, such as a transposed `out`.
  std::vector<char> copied(static_cast<size_t>(stride));
  Copy(from, 0, from.data, copied.data());
  std::memcpy(target, copied.data(), copied.size());
  return "";
}

std::string CopyBuffer(PyObject* value, const DLTensor& to) {
  Py_buffer buffer;
  if (PyObject_GetBuffer(value, &buffer, PyBUF_FULL_RO) != 0) return "gives no buffer";
  Source from{static_cast<const char*>(buffer.buf), {}, {}, {}};
  const DType* dtype = FindFormat(buffer.format, buffer.itemsize);
  const bool bits_of_bf16 = to.dtype.code == kDLBfloat && buffer.format != nullptr &&
                            std::strcmp(buffer.format, "H") == 0;
  if (bits_of_bf16) {
    from.type = to.dtype;
  } else if (dtype != nullptr) {
    from.type = dtype->type;
  }
  for (int d = 0; d < buffer.ndim; ++d) {
    from.shape.push_back(buffer.shape[d]);
    from.strides.push_back(buffer.strides[d]);
  }
  std::string problem;
  if (dtype == nullptr && !bits_of_bf16) {
    problem = fmt::format("has elements of the form \"{}\", which tensors here lack",
                          buffer.format == nullptr ? "" : buffer.format);
  } else if (buffer.suboffsets != nullptr) {
    problem = "does not lie in one piece of memory";
  } else {
    problem = CopyTensor(from, to);
  }
  PyBuffer_Release(&buffer);
  return problem;
}

// A capsule of the value; a tensor of PyTorch's that has a history of gradients leaves it behind.
Reference CapsuleOf(PyObject* value) {
  Reference capsule(PyObject_CallMethod(value, "__dlpack__", nullptr));
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
  return Reference(detached ? PyObject_CallMethod(detached.get(), "__dlpack__", nullptr) : nullptr);
}

std::string CopyDLPack(PyObject* value, const DLTensor& to) {
  const Reference capsule = CapsuleOf(value);
  if (!capsule) return "gives no tensor";
  // The capsule's own destructor ends what nobody has taken over.
  const auto* managed =
      static_cast<const DLManagedTensor*>(PyCapsule_GetPointer(capsule.get(), "dltensor"));
  if (managed == nullptr) return "gives no tensor";
  const DLTensor& tensor = managed->dl_tensor;
  const int device = static_cast<int>(tensor.device.device_type);
  if (device != kDLCPU && device != kDLCUDAHost) {
    return fmt::format(
        "lies on a device ({}, {}), and results are taken from this machine's "
        "memory; return y.cpu()",
        device, tensor.device.device_id);
  }
  Source from{static_cast<const char*>(cgraph_data(&tensor)), tensor.dtype, {}, {}};
  const int64_t bytes = tensor.dtype.bits / 8;
  from.shape.assign(tensor.shape, tensor.shape + tensor.ndim);
  from.strides.resize(from.shape.size());
  int64_t stride = bytes;
  for (size_t d = from.shape.size(); d-- > 0; stride *= from.shape[d]) {
    from.strides[d] = tensor.strides != nullptr ? tensor.strides[d] * bytes : stride;
  }
  return CopyTensor(from, to);
}

std::string CopyResult(PyObject* value, const DLTensor& to) {
  if (PyFloat_Check(value) || PyLong_Check(value)) {
    if (to.ndim == 0) return WriteNumber(value, cgraph_data(&to), to.dtype) ? "" : "does not fit";
    return fmt::format("is a number and was declared as {}",
                       TypeText(to.dtype, to.shape, static_cast<size_t>(to.ndim)));
  }
  if (PyObject_CheckBuffer(value) != 0) return CopyBuffer(value, to);
  if (PyObject_HasAttrString(value, "__dlpack__") != 0) return CopyDLPack(value, to);
  return fmt::format(
      "is of the type `{}`, and results are tensors (DLPack, the buffer protocol) or "
      "numbers",
      TypeName(value));
}

}  // namespace

std::string CopyResults(PyObject* returned, const DLTensor* results, int32_t count) {
  if (count == 0) {
    return returned == Py_None ? ""
                               : fmt::format(
                                     "what it returned, of the type `{}`, has no result to "
                                     "go to; declare one, or return nothing",
                                     TypeName(returned));
  }
  if (count == 1) {
    const std::string problem = CopyResult(returned, results[0]);
    return problem.empty() ? "" : "what it returned " + problem;
  }
  const bool several = PyTuple_Check(returned) || PyList_Check(returned);
  const Py_ssize_t given = several ? PySequence_Size(returned) : 1;
  if (given != count) {
    return fmt::format("{} results are declared, and it returned {}", count,
                       several ? fmt::format("{} of them", given)
                               : fmt::format("one of the type `{}`", TypeName(returned)));
  }
  for (int32_t i = 0; i < count; ++i) {
    const Reference value(PySequence_GetItem(returned, i));
    const std::string problem = value ? CopyResult(value.get(), results[i]) : "cannot be read";
    if (!problem.empty()) return fmt::format("result {} of what it returned {}", i, problem);
  }
  return "";
}

}  // namespace cgraph::methods
