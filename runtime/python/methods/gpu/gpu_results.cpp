#include "runtime/python/methods/call.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "runtime/python/beyond_elements.h"
#include "runtime/python/methods/dtypes.h"
#include "runtime/python/methods/helper.h"
#include "runtime/python/methods/source.h"

namespace cgraph::methods {
namespace {

constexpr int kDLManaged = 13;  // kDLCUDAManaged, which older headers lack
constexpr char kInterface[] = "__cuda_array_interface__";

uint64_t AddressOf(const void* data) { return reinterpret_cast<uintptr_t>(data); }

std::string Elsewhere(const std::string& where, const CallStream& stream) {
  return fmt::format(
      "lies {0}, and a place on cuda:{1} takes its results from there; return "
      "y.to(\"cuda:{1}\"), or place its actor on a cpu",
      where, stream.gpu());
}

// Appends the copy. `owner` holds the memory.
std::string Append(const Source& from, const DLTensor& to, CallStream& stream, Reference owner) {
  std::string misfit = Misfit(from, to);
  if (!misfit.empty()) return misfit;
  if (!from.IsDense()) return "is not dense and row-major; return a copy that is";
  void* target = cgraph_data(&to);
  const auto bytes = static_cast<size_t>(cgraph_size(&to)) * (to.dtype.bits / 8);
  if (bytes == 0 || target == from.data) return "";  // is where it belongs
  const Driver& driver = stream.driver();
  std::string error = driver.Said(
      "cuMemcpyAsync",
      driver.cuMemcpyAsync(AddressOf(target), AddressOf(from.data), bytes, stream.handle()));
  if (!error.empty()) return "cannot be copied: " + error;
  if (owner && !stream.IsOfCall(from.data)) stream.Hold(std::move(owner));
  return "";
}

// Lets the stream store a number that the host knows.
std::string CopyNumber(PyObject* value, const DLTensor& to, const CallStream& stream) {
  if (to.ndim != 0) {
    return fmt::format("is a number and was declared as {}",
                       TypeText(to.dtype, to.shape, static_cast<size_t>(to.ndim)));
  }
  unsigned char bytes[8];
  const size_t size = to.dtype.bits / 8;
  if (!WriteNumber(value, bytes, to.dtype)) return "does not fit";
  const Driver& driver = stream.driver();
  for (size_t first = 0; first < size;) {  // a fill for each run of equal bytes
    const auto* end = std::find_if(bytes + first, bytes + size,
                                   [&](unsigned char byte) { return byte != bytes[first]; });
    const auto count = static_cast<size_t>(end - (bytes + first));
    const std::string error = driver.Said(
        "cuMemsetD8Async", driver.cuMemsetD8Async(AddressOf(cgraph_data(&to)) + first, bytes[first],
                                                  count, stream.handle()));
    if (!error.empty()) return "cannot be stored: " + error;
    first += count;
  }
  return "";
}

// ---- DLPack

// Reads `__dlpack_device__`. False, with an error set, where there is none.
bool DeviceOf(PyObject* value, int& type, int& number) {
  const Reference device(PyObject_CallMethod(value, "__dlpack_device__", nullptr));
  const Reference first(device ? PySequence_GetItem(device.get(), 0) : nullptr);
  const Reference second(first ? PySequence_GetItem(device.get(), 1) : nullptr);
  if (!second) return false;
  type = static_cast<int>(PyLong_AsLong(first.get()));  // of an enum, too
  number = static_cast<int>(PyLong_AsLong(second.get()));
  return PyErr_Occurred() == nullptr;
}

std::string CheckDevice(PyObject* value, const CallStream& stream) {
  int type = 0, number = 0;
  if (!DeviceOf(value, type, number)) return "gives no tensor";
  if (type == kDLManaged || (type == kDLCUDA && number == stream.gpu())) return "";
  if (type == kDLCPU || type == kDLCUDAHost) return Elsewhere("in the host's memory", stream);
  return Elsewhere(type == kDLCUDA ? fmt::format("on cuda:{}", number)
                                   : fmt::format("on a device ({}, {})", type, number),
                   stream);
}

// Returns a capsule that is there for the stream; null with an error set.
Reference CapsuleFor(PyObject* value, const CallStream& stream) {
  const Reference keywords(PyDict_New());
  const Reference handle(PyLong_FromVoidPtr(stream.handle()));
  if (!keywords || !handle || PyDict_SetItemString(keywords.get(), "stream", handle.get()) != 0) {
    return Reference();
  }
  return CapsuleOf(value, keywords.get());
}

// Whether the memory's owner sees to it that it stays as it is until the stream has copied it:
// PyTorch's allocator does.
bool IsKept(PyObject* value) {
  const Reference kept = CallHelper("is_kept_for_stream", Reference::To(value));
  if (!kept) PyErr_Clear();
  return kept.get() == Py_True;
}

std::string CopyDLPack(PyObject* value, const DLTensor& to, CallStream& stream, bool may_copy) {
  std::string problem = CheckDevice(value, stream);
  if (!problem.empty()) return problem;
  Reference capsule = CapsuleFor(value, stream);
  if (!capsule) return "gives no tensor";
  const auto* managed =
      static_cast<const DLManagedTensor*>(PyCapsule_GetPointer(capsule.get(), "dltensor"));
  if (managed == nullptr) return "gives no tensor";
  const Source from = Source::Of(managed->dl_tensor);
  if (may_copy && Misfit(from, to).empty() && !from.IsDense() &&
      PyObject_HasAttrString(value, "contiguous") != 0) {  // of PyTorch's, by the call's stream
    const Reference dense(PyObject_CallMethod(value, "contiguous", nullptr));
    return dense ? CopyDLPack(dense.get(), to, stream, false) : "cannot be made dense";
  }
  const bool kept = IsKept(value);
  return Append(from, to, stream, kept ? Reference() : std::move(capsule));
}

// ---- The array interface of CUDA

// Reads a tuple of numbers, or None, which leaves `numbers` as it is. False with an error set.
bool ReadNumbers(PyObject* tuple, std::vector<int64_t>& numbers) {
  if (tuple == nullptr || tuple == Py_None) return true;
  const Py_ssize_t count = PySequence_Size(tuple);
  if (count < 0) return false;
  numbers.clear();
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Reference each(PySequence_GetItem(tuple, i));
    numbers.push_back(each ? PyLong_AsLongLong(each.get()) : -1);
  }
  return PyErr_Occurred() == nullptr;
}

// Reads what the interface says of the memory. False where it says something else than it should.
bool ReadSource(PyObject* said, const DLTensor& to, Source& from) {
  PyObject* text = PyDict_GetItemString(said, "typestr");
  const char* type = text != nullptr ? PyUnicode_AsUTF8AndSize(text, nullptr) : nullptr;
  PyObject* data = PyDict_GetItemString(said, "data");
  const Reference address(data != nullptr ? PySequence_GetItem(data, 0) : nullptr);
  PyObject* shape = PyDict_GetItemString(said, "shape");
  if (type == nullptr || !address || shape == nullptr || !ReadNumbers(shape, from.shape)) {
    return false;
  }
  from.data = static_cast<const char*>(PyLong_AsVoidPtr(address.get()));
  // The interface has no bf16, so its bits may come as unsigned numbers, as they do from NumPy.
  const bool bits_of_bf16 = to.dtype.code == kDLBfloat && std::strcmp(type, "<u2") == 0;
  if (bits_of_bf16) {
    from.type = to.dtype;
  } else if (const DType* dtype = FindTypeText(type); dtype != nullptr) {
    from.type = dtype->type;
  }
  int64_t stride = from.type.bits / 8;
  from.strides.resize(from.shape.size());
  for (size_t d = from.shape.size(); d-- > 0; stride *= from.shape[d]) from.strides[d] = stride;
  return ReadNumbers(PyDict_GetItemString(said, "strides"), from.strides) &&
         from.strides.size() == from.shape.size() && PyErr_Occurred() == nullptr;
}

std::string CopyInterface(PyObject* value, const DLTensor& to, CallStream& stream) {
  const Reference said(PyObject_GetAttrString(value, kInterface));
  if (!said || PyDict_Check(said.get()) == 0) return "gives no tensor";
  PyObject* mask = PyDict_GetItemString(said.get(), "mask");
  if (mask != nullptr && mask != Py_None) return "has a mask, which tensors here lack";
  Source from;
  if (!ReadSource(said.get(), to, from)) {
    return fmt::format("has a {} that cannot be read", kInterface);
  }
  if (PyObject* made_by = PyDict_GetItemString(said.get(), "stream");
      made_by != nullptr && made_by != Py_None) {
    void* other = PyLong_AsVoidPtr(made_by);
    if (PyErr_Occurred() != nullptr) return "names no stream";
    const std::string error = stream.WaitFor(other);
    if (!error.empty()) return "cannot be waited for: " + error;
  }
  return Append(from, to, stream, Reference::To(value));
}

}  // namespace

std::string CopyGpuResult(PyObject* value, const DLTensor& to, CallStream& stream) {
  if (PyFloat_Check(value) || PyLong_Check(value)) return CopyNumber(value, to, stream);
  if (const auto beyond = python::WhatIsBeyondElements(value)) {
    return fmt::format("is {}; return y.{}", beyond.what, beyond.mend);
  }
  if (PyObject_HasAttrString(value, "__dlpack__") != 0) {
    return CopyDLPack(value, to, stream, true);
  }
  if (PyObject_HasAttrString(value, kInterface) != 0) return CopyInterface(value, to, stream);
  if (PyObject_CheckBuffer(value) != 0) return Elsewhere("in the host's memory", stream);
  return fmt::format(
      "is of the type `{}`, and results on a GPU are tensors there (DLPack, {}) or "
      "numbers",
      TypeName(value), kInterface);
}

}  // namespace cgraph::methods
