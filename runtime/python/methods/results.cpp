#include "runtime/python/methods/call.h"

#include <cstring>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "runtime/python/beyond_elements.h"
#include "runtime/python/methods/dtypes.h"
#include "runtime/python/methods/source.h"

namespace cgraph::methods {
namespace {

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

std::string CopyTensor(const Source& from, const DLTensor& to, bool has_buffer) {
  std::string misfit = Misfit(from, to, has_buffer);
  if (!misfit.empty()) return misfit;
  // One that is as long and in no other order is copied at once: rows of rows are one row.
  const bool dense = from.IsDense();
  const auto bytes = static_cast<size_t>(cgraph_size(&to)) * (to.dtype.bits / 8);
  char* target = static_cast<char*>(cgraph_data(&to));
  if (bytes == 0 || (dense && target == from.data)) return "";  // is where it belongs
  if (dense) {
    std::memmove(target, from.data, bytes);
    return "";
  }
  // It may be a view of the result's own memory, such as a transposed `out`.
  std::vector<char> copied(bytes);
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
    const std::string_view form = buffer.format == nullptr ? "" : buffer.format;
    const bool is_complex = form.find('Z') != form.npos;
    problem = fmt::format("has elements of the form \"{}\", which tensors here lack{}{}", form,
                          is_complex ? "" : "; return ",
                          is_complex ? "" : NumpyConversion(to.dtype));
  } else if (buffer.suboffsets != nullptr) {
    problem = "does not lie in one piece of memory";
  } else {
    problem = CopyTensor(from, to, true);
  }
  PyBuffer_Release(&buffer);
  return problem;
}

std::string CopyDLPack(PyObject* value, const DLTensor& to) {
  const Reference capsule = CapsuleOf(value, nullptr);
  if (!capsule) return "gives no tensor";
  // The capsule's own destructor ends what was not taken over.
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
  return CopyTensor(Source::Of(tensor), to, false);
}

std::string CopyResult(PyObject* value, const DLTensor& to) {
  if (PyFloat_Check(value) || PyLong_Check(value)) {
    if (to.ndim == 0) return WriteNumber(value, cgraph_data(&to), to.dtype) ? "" : "does not fit";
    return fmt::format("is a number and was declared as {}",
                       TypeText(to.dtype, to.shape, static_cast<size_t>(to.ndim)));
  }
  if (const auto beyond = python::WhatIsMasked(value)) {
    return fmt::format("is {}; return y.{}", beyond.what, beyond.mend);
  }
  if (PyObject_CheckBuffer(value) != 0) return CopyBuffer(value, to);
  if (PyObject_HasAttrString(value, "__dlpack__") != 0) return CopyDLPack(value, to);
  return fmt::format(
      "is of the type `{}`, and results are tensors (DLPack, the buffer protocol) or "
      "numbers",
      TypeName(value));
}

}  // namespace

std::string CopyResults(PyObject* returned, const DLTensor* results, int32_t count, int32_t own,
                        CallStream* stream) {
  const auto copy = [&](PyObject* value, const DLTensor& to) {
    return stream == nullptr ? CopyResult(value, to) : CopyGpuResult(value, to, *stream);
  };
  if (count == 0) {
    return returned == Py_None ? ""
                               : fmt::format(
                                     "what it returned, of the type `{}`, has no result to "
                                     "go to; declare one, or return nothing",
                                     TypeName(returned));
  }
  if (returned == Py_None) {
    const auto rank = static_cast<size_t>(results->ndim);
    return fmt::format("it returned nothing (a `return` is missing?), and {} declared",
                       count > 1 ? fmt::format("{} results are", count)
                                 : TypeText(results->dtype, results->shape, rank) + " is");
  }
  if (count == 1) {
    const std::string problem = copy(returned, results[0]);
    return problem.empty() ? "" : "what it returned " + problem;
  }
  const bool several = PyTuple_Check(returned) || PyList_Check(returned);
  const Py_ssize_t given = several ? PySequence_Size(returned) : 1;
  if (given != count) {
    return fmt::format("{} results are declared, and it returned {}", count - own,
                       several ? fmt::format("{} of them", given - own)
                               : fmt::format("one of the type `{}`", TypeName(returned)));
  }
  for (int32_t i = 0; i < count; ++i) {
    const Reference value(PySequence_GetItem(returned, i));
    const std::string problem = value ? copy(value.get(), results[i]) : "cannot be read";
    if (!problem.empty()) return fmt::format("result {} of what it returned {}", i, problem);
  }
  return "";
}

}  // namespace cgraph::methods
