#include "runtime/python/methods/view.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "runtime/python/methods/dtypes.h"
#include "runtime/python/methods/gil.h"

namespace cgraph::methods {
namespace {

constexpr size_t kMostSpare = 64;  // more than most calls are given tensors

PyTypeObject* view_type = nullptr;
// Views that are kept for the next call; with the interpreter's lock.
std::vector<View*>& Spare() {
  static std::vector<View*>& spare = *new std::vector<View*>;
  return spare;
}

View* Of(PyObject* self) { return reinterpret_cast<View*>(self); }

bool IsValid(const View* view) {
  if (view->is_valid) return true;
  PyErr_SetString(PyExc_ValueError,
                  "the call that was given this tensor is over, and its memory is the graph's "
                  "again; keep a copy, made during the call");
  return false;
}

bool IsOnGpu(const View* view) { return view->tensor.device.device_type == kDLCUDA; }

// Sets an error that ends with where a tensor on a GPU is, as "...: it is on cuda:0; `use`".
PyObject* RefuseOnGpu(const View* view, PyObject* error, const char* what, const char* use) {
  PyErr_Format(error, "%s: it is on cuda:%d; %s", what, view->tensor.device.device_id, use);
  return nullptr;
}

int64_t SizeOf(const View* view) { return cgraph_size(&view->tensor); }

// ---- DLPack

struct Exported {  // what a capsule owns
  DLManagedTensor managed;
  View* view;  // held
};

// By any thread, without the lock as well: a library ends its tensors when it likes.
void DeleteExported(DLManagedTensor* managed) {
  auto* exported = static_cast<Exported*>(managed->manager_ctx);
  if (Py_IsInitialized() != 0) {
    const PyGILState_STATE state = PyGILState_Ensure();
    --exported->view->exports;
    Py_DECREF(exported->view);
    PyGILState_Release(state);
  }
  delete exported;
}

void DeleteUnused(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, "dltensor") == 0) return;  // it was taken over
  auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
  managed->deleter(managed);
}

// Whether `__dlpack__` may give what its keywords ask for; false with an error set.
bool IsDeviceAsked(const View* view, PyObject* keywords) {
  PyObject* asked = keywords == nullptr ? nullptr : PyDict_GetItemString(keywords, "dl_device");
  if (asked == nullptr || asked == Py_None) return true;
  const DLDevice device = view->tensor.device;
  const Reference own(Py_BuildValue("(ii)", static_cast<int>(device.device_type),
                                    static_cast<int>(device.device_id)));
  const int same = own ? PyObject_RichCompareBool(own.get(), asked, Py_EQ) : -1;
  if (same == 0) {
    PyErr_Format(PyExc_BufferError,
                 "`dl_device` is %R, and this tensor is on %R; copy what is made of it", asked,
                 own.get());
  }
  return same == 1;
}

// Lets the stream that is to use a tensor on a GPU, as DLPack names it, wait for the call's. False
// with an error set.
bool GiveToStream(View* view, PyObject* keywords) {
  PyObject* named = keywords == nullptr ? nullptr : PyDict_GetItemString(keywords, "stream");
  intptr_t user = kDefaultStream;
  if (named != nullptr && named != Py_None) {
    user = static_cast<intptr_t>(PyLong_AsLongLong(named));
    if (PyErr_Occurred() != nullptr) return false;
    if (user == -1) return true;  // its user waits by itself
  }
  const std::string error =
      view->stream->GiveTo(reinterpret_cast<void*>(user > 0 ? user : kDefaultStream));
  if (!error.empty()) PyErr_SetString(PyExc_BufferError, error.c_str());
  return error.empty();
}

PyObject* ToDLPack(PyObject* self, PyObject*, PyObject* keywords) {
  View* view = Of(self);
  if (!IsValid(view) || !IsDeviceAsked(view, keywords)) return nullptr;
  if (IsOnGpu(view) && !GiveToStream(view, keywords)) return nullptr;
  auto* exported = new (std::nothrow) Exported{{view->tensor, nullptr, DeleteExported}, view};
  if (exported == nullptr) return PyErr_NoMemory();
  exported->managed.manager_ctx = exported;
  PyObject* capsule = PyCapsule_New(&exported->managed, "dltensor", DeleteUnused);
  if (capsule == nullptr) {
    delete exported;
    return nullptr;
  }
  ++view->exports;
  Py_INCREF(self);
  return capsule;
}

PyObject* DLPackDevice(PyObject* self, PyObject*) {
  const DLDevice device = Of(self)->tensor.device;
  return Py_BuildValue("(ii)", static_cast<int>(device.device_type),
                       static_cast<int>(device.device_id));
}

// ---- The array interface of CUDA

PyObject* CudaInterface(PyObject* self, void*) {
  View* view = Of(self);
  if (!IsValid(view)) return nullptr;
  const std::string type = IsOnGpu(view) ? TypeTextOf(*FindDType(view->tensor.dtype)) : "";
  if (type.empty()) {
    PyErr_SetString(PyExc_AttributeError, IsOnGpu(view)
                                              ? "the array interface has no bf16; DLPack has it"
                                              : "this tensor is in the host's memory");
    return nullptr;
  }
  view->is_described = true;
  const Reference shape(PyObject_GetAttrString(self, "shape"));
  const Reference address(
      PyLong_FromVoidPtr(SizeOf(view) == 0 ? nullptr : cgraph_data(&view->tensor)));
  const Reference stream(PyLong_FromVoidPtr(view->stream->handle()));
  if (!shape || !address || !stream) return nullptr;
  return Py_BuildValue("{s:O,s:s,s:(OO),s:O,s:i,s:O}", "shape", shape.get(), "typestr",
                       type.c_str(), "data", address.get(), view->is_writable ? Py_False : Py_True,
                       "strides", Py_None, "version", 3, "stream", stream.get());
}

// ---- The buffer protocol

int GetBuffer(PyObject* self, Py_buffer* buffer, int flags) {
  View* view = Of(self);
  buffer->obj = nullptr;
  if (!IsValid(view)) return -1;
  if (IsOnGpu(view)) {
    RefuseOnGpu(view, PyExc_BufferError, "the host does not reach this tensor",
                "torch.from_dlpack(x) gives it");
    return -1;
  }
  const char* format = FindDType(view->tensor.dtype)->format;
  if (format == nullptr && (flags & PyBUF_FORMAT) != 0) {
    PyErr_SetString(PyExc_BufferError,
                    "the buffer protocol has no bf16; torch.from_dlpack(x) gives it");
    return -1;
  }
  if ((flags & PyBUF_WRITABLE) != 0 && !view->is_writable) {
    PyErr_SetString(PyExc_BufferError, "the argument, or state, is read-only");
    return -1;
  }
  Py_INCREF(self);
  ++view->exports;
  buffer->buf = cgraph_data(&view->tensor);
  buffer->obj = self;
  buffer->itemsize = view->tensor.dtype.bits / 8;
  buffer->len = SizeOf(view) * buffer->itemsize;
  buffer->readonly = view->is_writable ? 0 : 1;
  buffer->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(format) : nullptr;
  buffer->ndim = view->tensor.ndim;
  static_assert(sizeof(Py_ssize_t) == sizeof(int64_t));
  buffer->shape = (flags & PyBUF_ND) != 0 ? reinterpret_cast<Py_ssize_t*>(view->shape) : nullptr;
  buffer->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? view->strides : nullptr;
  buffer->suboffsets = nullptr;
  buffer->internal = nullptr;
  return 0;
}

void ReleaseBuffer(PyObject* self, Py_buffer*) { --Of(self)->exports; }

// NumPy asks for this where the buffer protocol has failed, and makes an array of one object else.
PyObject* ToArray(PyObject* self, PyObject*, PyObject*) {
  if (!IsValid(Of(self))) return nullptr;
  if (IsOnGpu(Of(self))) {
    return RefuseOnGpu(Of(self), PyExc_TypeError, "NumPy has no array of this tensor",
                       "torch.from_dlpack(x) gives it, or its actor is placed on a cpu");
  }
  PyErr_SetString(PyExc_TypeError, "NumPy has no bf16; torch.from_dlpack(x) gives it");
  return nullptr;
}

// ---- What a view says of itself

PyObject* Shape(PyObject* self, void*) {
  const View* view = Of(self);
  PyObject* shape = PyTuple_New(view->tensor.ndim);
  for (int d = 0; shape != nullptr && d < view->tensor.ndim; ++d) {
    PyTuple_SetItem(shape, d, PyLong_FromLongLong(view->shape[d]));
  }
  return shape;
}

PyObject* DTypeOf(PyObject* self, void*) {
  return PyUnicode_FromString(FindDType(Of(self)->tensor.dtype)->name);
}
PyObject* DeviceOf(PyObject* self, void*) {
  const DLDevice device = Of(self)->tensor.device;
  return IsOnGpu(Of(self)) ? PyUnicode_FromFormat("cuda:%d", static_cast<int>(device.device_id))
                           : PyUnicode_FromString("cpu");
}
PyObject* NDim(PyObject* self, void*) { return PyLong_FromLong(Of(self)->tensor.ndim); }
PyObject* Size(PyObject* self, void*) { return PyLong_FromLongLong(SizeOf(Of(self))); }

PyObject* Item(PyObject* self, PyObject*) {
  const View* view = Of(self);
  if (!IsValid(view)) return nullptr;
  if (IsOnGpu(view)) {
    return RefuseOnGpu(view, PyExc_TypeError, "the host does not know this tensor's numbers yet",
                       "torch.from_dlpack(x) gives the tensor");
  }
  if (SizeOf(view) != 1) {
    PyErr_SetString(PyExc_TypeError, "only a tensor of one element is a number");
    return nullptr;
  }
  return ReadNumber(cgraph_data(&view->tensor), view->tensor.dtype);
}

template <PyObject* (*convert)(PyObject*)>
PyObject* AsNumber(PyObject* self) {
  const Reference number(Item(self, nullptr));
  return number ? convert(number.get()) : nullptr;
}

int AsTruth(PyObject* self) {
  const Reference number(Item(self, nullptr));
  return number ? PyObject_IsTrue(number.get()) : -1;
}

Py_ssize_t Length(PyObject* self) {
  if (Of(self)->tensor.ndim > 0) return Of(self)->shape[0];
  PyErr_SetString(PyExc_TypeError, "a scalar has no length");
  return -1;
}

PyObject* Repr(PyObject* self) {
  const Reference shape(Shape(self, nullptr));
  if (!shape) return nullptr;
  const Reference where(IsOnGpu(Of(self))
                            ? PyUnicode_FromFormat(" on cuda:%d", Of(self)->tensor.device.device_id)
                            : PyUnicode_FromString(""));
  if (!where) return nullptr;
  return PyUnicode_FromFormat("<cgraph view %s%R%S%s>", FindDType(Of(self)->tensor.dtype)->name,
                              shape.get(), where.get(), Of(self)->is_valid ? "" : ", over");
}

void Delete(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

// PyCFunction is what the table wants, also of functions with keywords.
PyCFunction WithKeywords(PyCFunctionWithKeywords function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(function));
}

}  // namespace

bool MakeViewType() {
  if (view_type != nullptr) return true;
  static PyMethodDef methods[] = {
      {"__dlpack__", WithKeywords(ToDLPack), METH_VARARGS | METH_KEYWORDS,
       "A capsule of DLPack, without a copy."},
      {"__array__", WithKeywords(ToArray), METH_VARARGS | METH_KEYWORDS, "Why it is none."},
      {"__dlpack_device__", DLPackDevice, METH_NOARGS,
       "(1, 0): the host's memory; (2, 1): that of the GPU cuda:1."},
      {"item", Item, METH_NOARGS, "The element of a tensor of one, as a number."},
      {nullptr, nullptr, 0, nullptr}};
  static PyGetSetDef members[] = {
      {"shape", Shape, nullptr, "Its extents, in this call.", nullptr},
      {"dtype", DTypeOf, nullptr, "The name of its element type, as 'f32'.", nullptr},
      {"device", DeviceOf, nullptr, "'cpu', or 'cuda:0': the memory that it lies in.", nullptr},
      {"__cuda_array_interface__", CudaInterface, nullptr,
       "Where it lies on a GPU, version 3; else there is none.", nullptr},
      {"ndim", NDim, nullptr, "The number of its dimensions.", nullptr},
      {"size", Size, nullptr, "The number of its elements.", nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  const auto slot = [](auto* function) { return reinterpret_cast<void*>(function); };
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("A tensor of a call, in the memory where it lies; valid until "
                                    "the call is over. numpy.asarray(x) and torch.from_dlpack(x) "
                                    "share its memory.")},
      {Py_tp_dealloc, slot(Delete)},
      {Py_tp_repr, slot(Repr)},
      {Py_tp_methods, methods},
      {Py_tp_getset, members},
      {Py_bf_getbuffer, slot(GetBuffer)},
      {Py_bf_releasebuffer, slot(ReleaseBuffer)},
      {Py_sq_length, slot(Length)},
      {Py_nb_float, slot(&AsNumber<PyNumber_Float>)},
      {Py_nb_int, slot(&AsNumber<PyNumber_Long>)},
      {Py_nb_index, slot(&AsNumber<PyNumber_Index>)},
      {Py_nb_bool, slot(AsTruth)},
      {0, nullptr}};
  PyType_Spec spec{"cgraph.View", sizeof(View), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  view_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return view_type != nullptr;
}

View* MakeView(const DLTensor& tensor, bool is_writable, CallStream* stream) {
  View* view;
  if (!Spare().empty()) {
    view = Spare().back();
    Spare().pop_back();
  } else {
    view = PyObject_New(View, view_type);
    if (view == nullptr) return nullptr;
  }
  view->tensor = tensor;
  view->tensor.shape = view->shape;
  Py_ssize_t stride = tensor.dtype.bits / 8;
  for (int d = tensor.ndim - 1; d >= 0; --d) {
    view->shape[d] = tensor.shape[d];
    view->strides[d] = stride;
    stride *= tensor.shape[d];
  }
  view->is_writable = is_writable;
  view->is_valid = true;
  view->is_described = false;
  view->stream = stream;
  view->exports = 0;
  return view;
}

bool TakeBack(View* view) {
  auto* object = reinterpret_cast<PyObject*>(view);
  const bool is_free = view->exports == 0 && (!view->is_described || Py_REFCNT(object) == 1);
  view->is_valid = false;
  view->stream = nullptr;
  if (is_free && Py_REFCNT(object) == 1 && Spare().size() < kMostSpare) {
    Spare().push_back(view);
  } else {
    Py_DECREF(object);
  }
  return is_free;
}

}  // namespace cgraph::methods
