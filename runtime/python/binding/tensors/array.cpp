#include "runtime/python/binding/tensors/array.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "runtime/base/permutation.h"
#include "runtime/device/tensor.h"
#include "runtime/native/dlpack_types.h"
#include "runtime/plan/kinds.h"
#include "runtime/python/binding/errors.h"
#include "runtime/python/binding/tensors/dlpack.h"
#include "runtime/python/binding/without_gil.h"

namespace nb = nanobind;

namespace cgraph::python {
namespace {

// What is given to a stream where its user names none: DLPack's number of CUDA's default stream.
constexpr intptr_t kDefaultStream = 1;

// Exported: what a capsule owns.
template <typename Managed>
struct Exported {
  // What its user has given to the stream may read the result still, although it lets go.
  ~Exported() {
    auto* outputs = std::get_if<OfThisProcess<Outputs>>(&owner);
    if (stream == 0 || outputs == nullptr || !outputs->usable()) return;
    (*outputs)->UsedBy(index, reinterpret_cast<void*>(stream));
  }

  Managed managed = {};
  Array::Owner owner;
  size_t index = 0;     // of outputs
  intptr_t stream = 0;  // of what lies on a GPU
  int64_t shape[kMaxRank] = {};
  int64_t strides[kMaxRank] = {};  // in elements
};

DLTensor& TensorOf(DLManagedTensor& managed) { return managed.dl_tensor; }
DLTensor& TensorOf(VersionedTensor& managed) { return managed.dl_tensor; }

// What an array is exported of.
struct Exporting {
  const Array::Owner& owner;
  const device::Tensor& tensor;
  size_t index;
  DLDevice device;
  intptr_t stream;
};

template <typename Managed>
nb::object MakeCapsule(const Exporting& from, const char* name, PyCapsule_Destructor unused) {
  const device::Tensor& tensor = from.tensor;
  auto exported = std::make_unique<Exported<Managed>>(Managed{}, from.owner, from.index);
  DLTensor& described = TensorOf(exported->managed);
  described.data = tensor.data;
  described.device = from.device;
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
  exported->stream = from.stream;
  exported.release();
  return nb::steal(capsule);
}

// The destructors of capsules that were not used.
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
    : owner_(OfThisProcess<Outputs>(outputs)),
      tensor_(&outputs[index]),
      index_(index),
      gpu_(outputs.gpu(index)) {
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

std::string Array::Device() const { return gpu_ ? fmt::format("cuda:{}", *gpu_) : "cpu"; }

nb::tuple Array::DLPackDevice() const {
  if (!gpu_) return nb::make_tuple(static_cast<int>(kDLCPU), 0);
  return nb::make_tuple(static_cast<int>(kDLCUDA), static_cast<int>(*gpu_));
}

Array Array::OnHost() const {
  if (!gpu_) return *this;
  auto copied = std::make_shared<CopiedTensor>();
  copied->bytes.resize(tensor_->bytes());
  copied->tensor = *tensor_;
  copied->tensor.data = copied->bytes.data();
  const Outputs outputs = *std::get<OfThisProcess<Outputs>>(owner_);
  const Status status = [&] {
    const WithoutGil unlocked;
    return outputs.CopyOut(index_, copied->bytes.data());
  }();
  if (!status.ok()) RaiseStatus(status, During::kExecution);
  return Array(std::move(copied));
}

nb::object Array::DLPack(nb::handle stream, nb::handle max_version, nb::handle dl_device,
                         nb::handle copy) const {
  const bool copies = !copy.is_none() && nb::cast<bool>(copy);
  const bool to_host =
      !dl_device.is_none() && dl_device.equal(nb::make_tuple(static_cast<int>(kDLCPU), 0));
  if (gpu_ && to_host && (copy.is_none() || copies)) {
    return OnHost().DLPack(nb::none(), max_version, nb::none(), nb::none());
  }
  if (!gpu_ && !stream.is_none()) {
    RaiseBuiltin(PyExc_BufferError,
                 "`stream`: these results are in this machine's memory, which "
                 "has no streams; leave it out");
  }
  if (copies) {
    RaiseBuiltin(PyExc_BufferError,
                 "`copy`: results are given without a copy; make it of what you "
                 "get");
  }
  if (!dl_device.is_none() && !dl_device.equal(DLPackDevice())) {
    RaiseBuiltin(PyExc_BufferError,
                 fmt::format("`dl_device`: these results are in {} memory, device ({}, {})",
                             gpu_ ? Device() + "'s" : "this machine's",
                             nb::cast<int>(DLPackDevice()[0]), gpu_.value_or(0)));
  }
  // The execution is over, so the reader of the result need not wait, on whatever stream.
  Exporting exporting{owner_, *tensor_, index_, {kDLCPU, 0}, 0};
  if (gpu_) {
    const auto named = stream.is_none() ? kDefaultStream : nb::cast<intptr_t>(stream);
    exporting.device = {kDLCUDA, static_cast<int32_t>(*gpu_)};
    exporting.stream = named > 0 ? named : kDefaultStream;
  }
  const bool versioned =
      !max_version.is_none() && nb::cast<int>(max_version[0]) >= static_cast<int>(kDLPackMajor);
  if (!versioned) return MakeCapsule<DLManagedTensor>(exporting, kPlainCapsule, DeletePlain);
  nb::object capsule = MakeCapsule<VersionedTensor>(exporting, kVersionedCapsule, DeleteVersioned);
  static_cast<VersionedTensor*>(PyCapsule_GetPointer(capsule.ptr(), kVersionedCapsule))->version = {
      kDLPackMajor, kDLPackMinor};
  return capsule;
}

int Array::GetBuffer(PyObject* self, Py_buffer* view, int flags) {
  const char* format = FormatOf(tensor_->dtype);
  view->obj = nullptr;
  if (gpu_) {
    PyErr_Format(PyExc_BufferError,
                 "this result is on %s, where the host does not reach it; `.cpu()` copies it to "
                 "this machine's memory",
                 Device().c_str());
    return -1;
  }
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

// Makes an array of its type and elements, as they were pickled.
Array OfBytes(std::string_view dtype, const std::vector<int64_t>& shape, const nb::bytes& bytes) {
  auto copied = std::make_shared<CopiedTensor>();
  device::Tensor& tensor = copied->tensor;
  const std::optional<DType> named = ParseDType(dtype);
  tensor.dtype = static_cast<plan::DType>(named.value_or(DType{}));
  if (!named || shape.size() > kMaxRank ||
      plan::TensorBytes(tensor.dtype, shape) != bytes.size()) {
    RaiseBuiltin(PyExc_ValueError, "these are not the elements of an array of that type and shape");
  }
  tensor.rank = static_cast<uint8_t>(shape.size());
  std::copy(shape.begin(), shape.end(), tensor.dims);
  const auto* from = static_cast<const uint8_t*>(bytes.data());
  copied->bytes.assign(from, from + bytes.size());
  tensor.data = copied->bytes.data();
  return Array(std::move(copied));
}

// Returns the order in which an epoch takes its rows, an i64[rows].
Array OrderOfRows(int64_t rows, uint64_t seed, uint64_t epoch) {
  auto copied = std::make_shared<CopiedTensor>();
  {
    const WithoutGil unlocked;
    const std::vector<int64_t> order = Permutation(rows, seed, epoch);
    const auto* from = reinterpret_cast<const uint8_t*>(order.data());
    copied->bytes.assign(from, from + order.size() * sizeof(int64_t));
  }
  copied->tensor.dtype = plan::DType::i64;
  copied->tensor.rank = 1;
  copied->tensor.dims[0] = rows;
  copied->tensor.data = copied->bytes.data();
  return Array(std::move(copied));
}

void BindArray(nb::module_& module) {
  module.def("array_of_bytes", &OfBytes);
  module.def("permutation", &OrderOfRows);
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
      .def("__dlpack_device__", &Array::DLPackDevice,
           "(1, 0): this machine's memory; (2, n): that of cuda:n.")
      .def_prop_ro("device", &Array::Device, "Where it lies: 'cpu', or a GPU, as 'cuda:0'.")
      .def("cpu", &Array::OnHost, "The same in this machine's memory: a copy of what is on a GPU.")
      .def("__len__", &Length)
      .def("__repr__", [](const Array& self) {
        const Array on_host = self.OnHost();
        return fmt::format("<cgraph.Array {}{}: {}>", device::TensorTypeText(self.tensor()),
                           self.gpu() ? " on " + self.Device() : "",
                           device::FormatTensor(on_host.tensor()));
      });
}

}  // namespace cgraph::python
