#include "runtime/python/binding/tensors/borrow.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include "runtime/base/text.h"
#include "runtime/plan/kinds.h"
#include "runtime/python/beyond_elements.h"
#include "runtime/python/binding/errors.h"

namespace nb = nanobind;

namespace cgraph::python {
namespace {

[[noreturn]] void RaiseInput(const std::string& message) { Raise("InputError", message); }

std::string Takes(const InputPort& port, const std::string& graph) {
  return fmt::format("`{}` takes `{}` as {}", graph, port.name, port.type);
}

const char* FormatOf(const Py_buffer& buffer) {
  return buffer.format == nullptr ? "B" : buffer.format;
}

// The letter of the form of the buffer protocol, "f" or "<f"; 0 where it is not one letter.
char LetterOf(const Py_buffer& buffer) {
  const char* format = FormatOf(buffer);
  if (std::strchr("@=<>!", *format) != nullptr && *format != '\0') ++format;
  return format[0] == '\0' || format[1] != '\0' ? '\0' : format[0];
}

// Whether the high bytes of elements come first.
bool HighBytesFirst(const Py_buffer& buffer) {
  const char first = *FormatOf(buffer);
  return buffer.itemsize > 1 && (first == '>' || first == '!');
}

// The dtype of a buffer, or nothing.
std::optional<plan::DType> DTypeOf(const Py_buffer& buffer) {
  switch (LetterOf(buffer)) {
    case '?':
      return plan::DType::bool_;
    case 'b':
      return plan::DType::i8;
    case 'B':
      return plan::DType::u8;
    case 'i':
    case 'l':
    case 'q':
      if (buffer.itemsize == 4) return plan::DType::i32;
      if (buffer.itemsize == 8) return plan::DType::i64;
      return std::nullopt;
    case 'e':
      return plan::DType::f16;
    case 'f':
      return plan::DType::f32;
    case 'd':
      return plan::DType::f64;
    default:
      return std::nullopt;
  }
}

// Whether it is an array of NumPy's of the package ml_dtypes' bf16.
bool IsBfloat16(nb::handle object) {
  const nb::object dtype = nb::getattr(object, "dtype", nb::none());
  return nb::hasattr(object, "view") && nb::str(dtype).equal(nb::str("bfloat16"));
}

std::string TorchName(plan::DType dtype) {
  if (dtype == plan::DType::bool_) return "torch.bool";
  return dtype == plan::DType::bf16 ? "torch.bfloat16" : plan::NumpyName(dtype, "torch");
}

// A tensor without the buffer protocol may be PyTorch's, which has no `astype`.
[[noreturn]] void RaiseDType(const InputPort& port, const std::string& graph,
                             const std::string& given, bool has_buffer) {
  std::string torch;
  if (!has_buffer) {
    torch = fmt::format("`{}.to({})` of PyTorch, or ", port.name, TorchName(port.dtype));
  }
  RaiseInput(fmt::format("{}, and was given {}; {}`{}.astype({})`{} makes a copy that fits",
                         Takes(port, graph), given, torch, port.name,
                         plan::NumpyName(port.dtype, "numpy"), has_buffer ? "" : ","));
}

[[noreturn]] void RaiseLayout(const InputPort& port, const std::string& graph,
                              const std::vector<int64_t>& strides) {
  RaiseInput(fmt::format(
      "{}, and was given a tensor whose rows do not lie one after the other (strides [{}]); "
      "`numpy.ascontiguousarray({})`, or `.contiguous()` of PyTorch, makes a copy that fits",
      Takes(port, graph), fmt::join(strides, ", "), port.name));
}

void CheckRank(int64_t rank, const InputPort& port, const std::string& graph) {
  if (rank >= 0 && rank <= kMaxRank) return;
  RaiseInput(fmt::format("{}, and was given {} dimensions", Takes(port, graph), rank));
}

// Raises where the elements are not all that the object means. Arrays of NumPy's own class, which
// most inputs are, have nothing else.
void CheckElementsAreAll(nb::handle object, const InputPort& port, const std::string& graph) {
  if (std::strcmp(Py_TYPE(object.ptr())->tp_name, "numpy.ndarray") == 0) return;
  const BeyondElements beyond = WhatIsBeyondElements(object.ptr());
  if (!beyond) return;
  RaiseInput(fmt::format("{}, and was given {}; `{}.{}` makes a copy that fits", Takes(port, graph),
                         beyond.what, port.name, beyond.mend));
}

// Returns the stream that the producer of a tensor on a GPU is to let wait for it.
uintptr_t StreamFor(int gpu, const InputPort& port, const std::string& graph,
                    const Engine* engine) {
  std::string why = "from this machine's memory alone";
  if (engine != nullptr) {
    const auto stream = engine->HandoverStream(static_cast<uint32_t>(gpu));
    if (stream.ok()) return reinterpret_cast<uintptr_t>(*stream);
    why = stream.status().message();
  }
  RaiseInput(
      fmt::format("{}, and was given a tensor on cuda:{}: {}; `{}.cpu()` makes a copy that "
                  "fits",
                  Takes(port, graph), gpu, why, port.name));
}

// Returns what `__dlpack__` gives, by the newest form that it knows.
nb::object CapsuleOf(nb::handle object, nb::dict arguments) {
  const nb::object capsule_of = object.attr("__dlpack__");
  try {
    arguments["max_version"] = nb::make_tuple(kDLPackMajor, kDLPackMinor);
    return capsule_of(**arguments);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;  // it knows the first form alone
    arguments.attr("pop")("max_version");
    return capsule_of(**arguments);
  }
}

// Raises why the producer of a tensor refuses to export it. PyTorch does so where the tensor
// requires a gradient.
[[noreturn]] void RaiseRefusal(nb::handle object, const InputPort& port, const std::string& graph,
                               const nb::python_error& error) {
  if (nb::getattr(object, "requires_grad", nb::none()).is(nb::handle(Py_True))) {
    RaiseInput(
        fmt::format("{}, and was given a tensor that requires a gradient; `{}.detach()` fits",
                    Takes(port, graph), port.name));
  }
  RaiseInput(fmt::format("{}, and `__dlpack__` of what was given says: {}", Takes(port, graph),
                         nb::str(error.value()).c_str()));
}

// Returns where a tensor lies, by DLPack's numbers.
std::pair<int, int> DeviceOf(nb::handle object, const InputPort& port, const std::string& graph) {
  nb::object said;
  try {
    said = object.attr("__dlpack_device__")();
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_Exception)) throw;
    RaiseInput(fmt::format("{}, and `__dlpack_device__` of what was given fails: {}",
                           Takes(port, graph), nb::str(error.value()).c_str()));
  }
  std::pair<int, int> device;
  if (nb::try_cast(said, device)) return device;
  RaiseInput(fmt::format("{}, and `__dlpack_device__` of what was given returns {}, which is no "
                         "device of DLPack's, as (1, 0)",
                         Takes(port, graph), nb::repr(said).c_str()));
}

// Raises where an argument has a name that is none of the inputs'.
void CheckNames(const std::vector<InputPort>& ports, nb::handle kwargs, const std::string& graph) {
  if (kwargs.ptr() == nullptr) return;
  for (const auto& [key, value] : nb::borrow<nb::dict>(kwargs)) {
    const bool known = std::any_of(ports.begin(), ports.end(),
                                   [&](const InputPort& port) { return port.argument.equal(key); });
    if (known) continue;
    std::vector<std::string> names;
    for (const InputPort& port : ports) names.push_back(port.name);
    RaiseInput(fmt::format("`{}` has no input `{}`; its inputs: {}", graph,
                           nb::cast<std::string>(key), fmt::join(names, ", ")));
  }
}

// Returns the ports of the argument that begins at `first`.
std::span<const InputPort> PortsOf(const std::vector<InputPort>& ports, size_t first) {
  size_t end = first + 1;
  while (end < ports.size() && ports[end].argument.is(ports[first].argument)) ++end;
  return std::span(ports).subspan(first, end - first);
}

}  // namespace

std::vector<PathStep> PathOf(const std::string& port) {
  size_t at = std::min(port.find_first_of(".["), port.size());
  std::vector<PathStep> path = {port.substr(0, at)};
  while (at < port.size()) {
    const size_t end = std::min(port.find_first_of(".[", at + 1), port.size());
    const std::string part = port.substr(at + 1, end - at - 1);
    const bool number = port[at] == '[' || (!part.empty() && part.find_first_not_of("0123456789") ==
                                                                 std::string::npos);
    if (number)
      path.emplace_back(static_cast<Py_ssize_t>(std::stoll(part)));
    else
      path.emplace_back(part);
    at = end;
  }
  return path;
}

void FindWay(InputPort& port) {
  std::vector<PathStep> path = PathOf(port.name);
  PyObject* argument = PyUnicode_FromString(std::get<std::string>(path.front()).c_str());
  PyUnicode_InternInPlace(&argument);
  port.argument = nb::steal(argument);
  port.way.assign(std::make_move_iterator(path.begin() + 1), std::make_move_iterator(path.end()));
}

Borrowed& Borrowed::operator=(Borrowed&& other) noexcept {
  if (this == &other) return *this;
  Release();
  std::memcpy(static_cast<void*>(this), static_cast<const void*>(&other), sizeof(Borrowed));
  other.kind_ = Kind::kNone;
  return *this;
}

void Borrowed::Release() {
  switch (std::exchange(kind_, Kind::kNone)) {
    case Kind::kBuffer:
      PyBuffer_Release(&buffer_);
      break;
    case Kind::kPlain:
      if (plain_->deleter != nullptr) plain_->deleter(plain_);
      break;
    case Kind::kVersioned:
      if (versioned_->deleter != nullptr) versioned_->deleter(versioned_);
      break;
    case Kind::kNumber:
    case Kind::kNone:
      break;
  }
}

void Borrowed::Take(nb::handle object, const InputPort& port, const std::string& graph,
                    const Engine* engine) {
  if (PyObject_CheckBuffer(object.ptr())) {
    CheckElementsAreAll(object, port, graph);
    if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_FORMAT | PyBUF_STRIDES) == 0) {
      kind_ = Kind::kBuffer;
      TakeBuffer(port, graph);
      return;
    }
    PyErr_Clear();
    if (port.dtype == plan::DType::bf16 && IsBfloat16(object)) {  // which has no format
      return Take(object.attr("view")("uint16"), port, graph, engine);
    }
  }
  if (port.rank == 0 && TakeNumber(object, port)) return;
  if (PyObject_HasAttrString(object.ptr(), "__dlpack__")) {
    CheckElementsAreAll(object, port, graph);
    TakeCapsule(object, port, graph, engine);
    return;
  }
  RaiseInput(fmt::format(
      "{}, and was given {} {}, which holds no tensor (by the buffer protocol "
      "or `__dlpack__`); `numpy.asarray({}, dtype={})` makes one",
      Takes(port, graph), std::strchr("aeiou", Py_TYPE(object.ptr())->tp_name[0]) ? "an" : "a",
      Py_TYPE(object.ptr())->tp_name, port.name, plan::NumpyName(port.dtype, "numpy")));
}

void Borrowed::TakeBuffer(const InputPort& port, const std::string& graph) {
  if (HighBytesFirst(buffer_)) {
    RaiseInput(
        fmt::format("{}, and was given elements of the form `{}`, whose high bytes come "
                    "first; `{}.astype({}.dtype.newbyteorder('<'))` makes a copy whose low "
                    "bytes do",
                    Takes(port, graph), FormatOf(buffer_), port.name, port.name));
  }
  const std::optional<plan::DType> dtype = DTypeOf(buffer_);
  // Arrays of 16 bits are taken as the bits of bf16, which NumPy lacks; ml_dtypes calls it "E".
  const char letter = LetterOf(buffer_);
  const bool bits =
      port.dtype == plan::DType::bf16 && buffer_.itemsize == 2 && (letter == 'H' || letter == 'E');
  if (dtype != port.dtype && !bits) {
    RaiseDType(
        port, graph,
        dtype ? std::string(plan::DTypeName(*dtype))
              : fmt::format("elements of the form `{}`, which cgraph has not", FormatOf(buffer_)),
        /*has_buffer=*/true);
  }
  CheckRank(buffer_.ndim, port, graph);
  if (PyBuffer_IsContiguous(&buffer_, 'C') == 0) {
    RaiseLayout(port, graph, {buffer_.strides, buffer_.strides + buffer_.ndim});
  }
  rank_ = static_cast<uint8_t>(buffer_.ndim);
  for (int d = 0; d < buffer_.ndim; ++d) dims_[d] = buffer_.shape[d];
  data_ = buffer_.buf;
}

void Borrowed::TakeCapsule(nb::handle object, const InputPort& port, const std::string& graph,
                           const Engine* engine) {
  const std::pair<int, int> device = DeviceOf(object, port, graph);
  nb::dict arguments;
  gpu_ = kHost;
  if (device.first == kDLCUDA || device.first == kDLPackCudaManaged) {
    gpu_ = device.second;
    arguments["stream"] = StreamFor(gpu_, port, graph, engine);
  } else if (device.first != kDLCPU && device.first != kDLCUDAHost) {
    RaiseInput(
        fmt::format("{}, from this machine's memory or CUDA's, and was given a tensor of device "
                    "{}:{} (DLPack's numbers); `{}.cpu()` makes a copy that fits",
                    Takes(port, graph), device.first, device.second, port.name));
  }
  nb::object capsule;
  try {
    capsule = CapsuleOf(object, std::move(arguments));
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_BufferError)) throw;
    RaiseRefusal(object, port, graph, error);
  }
  if (PyCapsule_IsValid(capsule.ptr(), kVersionedCapsule) != 0) {
    versioned_ =
        static_cast<VersionedTensor*>(PyCapsule_GetPointer(capsule.ptr(), kVersionedCapsule));
    PyCapsule_SetName(capsule.ptr(), "used_dltensor_versioned");
    kind_ = Kind::kVersioned;
    if (versioned_->version.major > kDLPackMajor) {
      RaiseInput(fmt::format("`{}` comes as DLPack {}.{}; this module knows {}", port.name,
                             versioned_->version.major, versioned_->version.minor, kDLPackMajor));
    }
    TakeTensor(versioned_->dl_tensor, port, graph);
  } else if (PyCapsule_IsValid(capsule.ptr(), kPlainCapsule) != 0) {
    plain_ = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), kPlainCapsule));
    PyCapsule_SetName(capsule.ptr(), "used_dltensor");
    kind_ = Kind::kPlain;
    TakeTensor(plain_->dl_tensor, port, graph);
  } else {
    RaiseInput(fmt::format("`__dlpack__` of `{}` gave no capsule of DLPack", port.name));
  }
}

void Borrowed::TakeTensor(const DLTensor& tensor, const InputPort& port, const std::string& graph) {
  const std::optional<plan::DType> dtype = python::DTypeOf(tensor.dtype);
  if (dtype != port.dtype) {
    RaiseDType(port, graph,
               dtype ? std::string(plan::DTypeName(*dtype))
                     : fmt::format("{}{}, which cgraph has not", DLPackCodeName(tensor.dtype),
                                   tensor.dtype.bits),
               /*has_buffer=*/false);
  }
  CheckRank(tensor.ndim, port, graph);
  rank_ = static_cast<uint8_t>(tensor.ndim);
  int64_t dense = 1;
  bool fits = true, empty = false;
  for (int d = tensor.ndim - 1; d >= 0; --d) {
    dims_[d] = tensor.shape[d];
    empty |= dims_[d] == 0;
    fits &= tensor.strides == nullptr || dims_[d] == 1 || tensor.strides[d] == dense;
    dense *= dims_[d];
  }
  if (!fits && !empty) RaiseLayout(port, graph, {tensor.strides, tensor.strides + tensor.ndim});
  data_ = static_cast<const char*>(tensor.data) + tensor.byte_offset;
}

Input Borrowed::AsInput(const InputPort& port) const {
  const void* data = kind_ == Kind::kNumber ? static_cast<const void*>(&number_) : data_;
  return {.name = port.name,
          .data = data,
          .dtype = port.dtype,
          .dims = {dims_, rank_},
          .lent = kind_ != Kind::kNumber,
          .gpu = gpu_ == kHost ? std::nullopt : std::optional(static_cast<uint32_t>(gpu_))};
}

int64_t Borrowed::Elements() const {
  int64_t elements = 1;
  for (uint8_t d = 0; d < rank_; ++d) elements *= dims_[d];
  return elements;
}

BorrowedInputs::BorrowedInputs(const std::vector<InputPort>& ports, nb::handle args,
                               nb::handle kwargs, const std::string& graph, const Engine& engine)
    : tensors_(ports.size()) {
  const Py_ssize_t positional = PyTuple_GET_SIZE(args.ptr());
  Py_ssize_t used = 0, arguments = 0;
  PyObject* object = nullptr;
  std::vector<nb::object> parts;  // of the argument, by its ports
  size_t first = 0;               // port of the argument
  for (size_t p = 0; p < ports.size(); ++p) {
    const InputPort& port = ports[p];
    const bool same = p > 0 && ports[p - 1].argument.is(port.argument);
    if (!same) {
      const Py_ssize_t position = arguments++;
      object = kwargs.ptr() == nullptr ? nullptr
                                       : PyDict_GetItemWithError(kwargs.ptr(), port.argument.ptr());
      const bool named = object != nullptr;
      used += named;
      if (position < positional) {
        if (named) RaiseInput(fmt::format("`{}` was given `{}` twice", graph, port.name));
        object = PyTuple_GET_ITEM(args.ptr(), position);
      }
    }
    if (object == nullptr) {
      CheckNames(ports, kwargs, graph);
      RaiseInput(fmt::format("`{}` was not given its input `{}`, {}", graph, port.name, port.type));
    }
    if (port.way.empty()) {
      tensors_[p].Take(object, port, graph, &engine);
    } else {
      if (!same) {
        first = p;
        parts = PartsOf(object, PortsOf(ports, first), graph);
      }
      tensors_[p].Take(parts[p - first], port, graph, &engine);
    }
  }
  if (positional > arguments) {
    RaiseInput(fmt::format("`{}` takes {}, and was given {}", graph, Counted(arguments, "input"),
                           positional));
  }
  if (kwargs.ptr() != nullptr && PyDict_GET_SIZE(kwargs.ptr()) != used) {
    CheckNames(ports, kwargs, graph);
  }
}

std::vector<Input> BorrowedInputs::AsInputs(const std::vector<InputPort>& ports) const {
  std::vector<Input> inputs;
  inputs.reserve(ports.size());
  for (size_t p = 0; p < ports.size(); ++p) inputs.push_back(tensors_[p].AsInput(ports[p]));
  return inputs;
}

int64_t BorrowedInputs::Elements() const {
  int64_t elements = 0;
  for (const Borrowed& tensor : tensors_) elements += tensor.Elements();
  return elements;
}

}  // namespace cgraph::python
