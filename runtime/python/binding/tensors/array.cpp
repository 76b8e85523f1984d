#include "runtime/python/binding/tensors/array.h"

#include <memory>
#include <utility>

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "runtime/device/format_tensor.h"
#include "runtime/native/dlpack_types.h"
#include "runtime/plan/kinds.h"
#include "runtime/python/binding/tensors/dlpack.h"
#include "runtime/python/binding/errors.h"

namespace nb = nanobind;

namespace cgraph::python {
namespace {

// Exported: what a capsule owns.
template <typename Managed>
struct Exported {
  Managed managed = {};
  Array::Owner owner;
  int64_t shape[kMaxRank] = {};
  int64_t strides[kMaxRank] = {};  // in elements
};

DLTensor& TensorOf(DLManagedTensor& managed) { return managed.dl_tensor; }
DLTensor& TensorOf(VersionedTensor& managed) { return managed.dl_tensor; }

template <typename Managed>
nb::object MakeCapsule(const Array::Owner& owner, const device::Tensor& tensor, const char* name,
                       PyCapsule_Destructor unused) {
  auto exported = std::make_unique<Exported<Managed>>(Managed{}, owner);
  DLTensor& described = TensorOf(exported->managed);
  described.data = tensor.data;
  described.device = {kDLCPU, 0};
  described.ndim = tensor.rank;
  described.dtype = native::DLPackTypeOf(tensor.dtype);
  described.shape = exported->shape;
  described.strides = exported->strides;
  int64_t stride = 1;
  for (int d = tensor.rank - 1; d >= 0; --d) {
    exported->shape[d] = tensor.dims[d];
    exported->strides[d] = stride;
    stride *= tensor.dims[d];
  }
  exported->managed.manager_ctx = exported.get();
  exported->managed.deleter = [](Managed* self) {
    delete static_cast<Exported<Managed>*>(self->manager_ctx);
  };
  PyObject* capsule = PyCapsule_New(&exported->managed, name, unused);
  if (capsule == nullptr) throw nb::python_error();
  exported.release();
  return nb::steal(capsule);
}

// The destructors of capsules that nobody has used.
template <typename Managed>
void DeleteUnused(PyObject* capsule, const char* name) {
  if (PyCapsule_IsValid(capsule, name) == 0) return;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}
void DeletePlain(PyObject* capsule) { DeleteUnused<DLManagedTensor>(capsule, kPlainCapsule); }
void DeleteVersioned(PyObject* capsule) {
  DeleteUnused<VersionedTensor>(capsule, kVersionedCapsule);
}

// The form of elements by the buffer protocol; null of bf16, which it lacks.
const char* FormatOf(plan::DType dtype) {
  switch (dtype) {
    case plan::DType::bool_:
      return "?";
    case plan::DType::i8:
      return "b";
    case plan::DType::u8:
      return "B";
    case plan::DType::i32:
      return "i";
    case plan::DType::i64:
      return "l";
    case plan::DType::f16:
      return "e";
    case plan::DType::f32:
      return "f";
    case plan::DType::f64:
      return "d";
    case plan::DType::bf16:
      break;
  }
  return nullptr;
}

int GetBufferSlot(PyObject* self, Py_buffer* view, int flags) {
  return nb::inst_ptr<Array>(self)->GetBuffer(self, view, flags);
}

PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(GetBufferSlot)}, {0, nullptr}};

Py_ssize_t Length(const Array& array) {
  if (array.tensor().rank == 0) RaiseBuiltin(PyExc_TypeError, "a scalar has no length");
  return array.tensor().dims[0];
}

}  // namespace

Array::Array(const Outputs& outputs, size_t index)
    : owner_(OfThisProcess<Outputs>(outputs)), tensor_(&outputs[index]) {
  SetShape();
}

Array::Array(std::shared_ptr<CopiedTensor> copied)
    : owner_(std::move(copied)), tensor_(&std::get<1>(owner_)->tensor) {
  SetShape();
}

void Array::SetShape() {
  auto stride = static_cast<Py_ssize_t>(plan::DTypeBytes(tensor_->dtype));
  for (int d = tensor_->rank - 1; d >= 0; --d) {
    shape_[d] = tensor_->dims[d];
    strides_[d] = stride;
    stride *= tensor_->dims[d];
  }
}

nb::tuple Array::Shape() const {
  PyObject* shape = PyTuple_New(tensor_->rank);
  if (shape == nullptr) throw nb::python_error();
  for (int d = 0; d < tensor_->rank; ++d) {
    PyTuple_SET_ITEM(shape, d, PyLong_FromSsize_t(shape_[d]));
  }
  return nb::steal<nb::tuple>(shape);
}

nb::object Array::DLPack(nb::handle stream, nb::handle max_version, nb::handle dl_device,
                         nb::handle copy) const {
  if (!stream.is_none()) {
    RaiseBuiltin(PyExc_BufferError,
                 "`stream`: these results are in this machine's memory, which "
                 "has no streams; leave it out");
  }
  if (!copy.is_none() && nb::cast<bool>(copy)) {
    RaiseBuiltin(PyExc_BufferError,
                 "`copy`: results are given without a copy; make it of what you "
                 "get");
  }
  if (!dl_device.is_none() && !dl_device.equal(nb::make_tuple(static_cast<int>(kDLCPU), 0))) {
    RaiseBuiltin(PyExc_BufferError,
                 "`dl_device`: these results are in this machine's memory, "
                 "device (1, 0)");
  }
  const bool versioned =
      !max_version.is_none() && nb::cast<int>(max_version[0]) >= static_cast<int>(kDLPackMajor);
  if (!versioned) {
    return MakeCapsule<DLManagedTensor>(owner_, *tensor_, kPlainCapsule, DeletePlain);
  }
  nb::object capsule =
      MakeCapsule<VersionedTensor>(owner_, *tensor_, kVersionedCapsule, DeleteVersioned);
  static_cast<VersionedTensor*>(PyCapsule_GetPointer(capsule.ptr(), kVersionedCapsule))->version = {
      kDLPackMajor, kDLPackMinor};
  return capsule;
}

int Array::GetBuffer(PyObject* self, Py_buffer* view, int flags) {
  const char* format = FormatOf(tensor_->dtype);
  view->obj = nullptr;
  if (format == nullptr && (flags & PyBUF_FORMAT) != 0) {
    PyErr_SetString(PyExc_BufferError,
                    "the buffer protocol has no bf16; torch.from_dlpack(x), or "
                    "x.numpy() where ml_dtypes is installed, gives it");
    return -1;
  }
  view->buf = tensor_->data;
  view->obj = Py_NewRef(self);
  view->itemsize = plan::DTypeBytes(tensor_->dtype);
  view->len = static_cast<Py_ssize_t>(tensor_->bytes());
  view->readonly = 0;
  view->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(format) : nullptr;
  view->ndim = tensor_->rank;
  view->shape = (flags & PyBUF_ND) != 0 ? shape_ : nullptr;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? strides_ : nullptr;
  view->suboffsets = nullptr;
  view->internal = nullptr;
  return 0;
}

void BindArray(nb::module_& module) {
  nb::class_<Array>(module, "Array", nb::type_slots(slots), nb::is_final(),
                    nb::is_weak_referenceable(),
                    "A result of an execution, in the memory that the execution wrote it into, "
                    "or a copy of a state. NumPy, PyTorch and others read it without a copy, and "
                    "it may be written. It "
                    "stays valid for as long as anybody holds it.")
      .def_prop_ro("shape", &Array::Shape, "Its extents, in this execution.")
      .def_prop_ro(
          "dtype", [](const Array& self) { return plan::DTypeName(self.tensor().dtype); },
          "The name of its element type, as 'f32'.")
      .def_prop_ro(
          "ndim", [](const Array& self) { return int{self.tensor().rank}; },
          "The number of its dimensions.")
      .def_prop_ro(
          "size", [](const Array& self) { return self.tensor().elements(); },
          "The number of its elements.")
      .def_prop_ro(
          "nbytes", [](const Array& self) { return self.tensor().bytes(); },
          "The bytes of its elements.")
      .def("__dlpack__", &Array::DLPack, nb::kw_only(), nb::arg("stream").none() = nb::none(),
           nb::arg("max_version").none() = nb::none(), nb::arg("dl_device").none() = nb::none(),
           nb::arg("copy").none() = nb::none(), "A capsule of DLPack, without a copy.")
      .def(
          "__dlpack_device__",
          [](const Array&) { return nb::make_tuple(static_cast<int>(kDLCPU), 0); },
          "(1, 0): this machine's memory.")
      .def("__len__", &Length)
      .def("__repr__", [](const Array& self) {
        return fmt::format("<cgraph.Array {}: {}>", device::TensorTypeText(self.tensor()),
                           device::FormatTensor(self.tensor()));
      });
}

}  // namespace cgraph::python
