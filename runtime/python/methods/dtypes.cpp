#include "runtime/python/methods/dtypes.h"

#include <cstring>

#include <fmt/format.h>

#include "runtime/device/numbers/half.h"

namespace cgraph::methods {
namespace {

constexpr DType kDTypes[] = {
    {"bool", {CGRAPH_DLBOOL, 8, 1}, "?", "bool"},
    {"i8", {kDLInt, 8, 1}, "b", "int8"},
    {"u8", {kDLUInt, 8, 1}, "B", "uint8"},
    {"i32", {kDLInt, 32, 1}, "i", "int32"},
    {"i64", {kDLInt, 64, 1}, "l", "int64"},
    {"f16", {kDLFloat, 16, 1}, "e", "float16"},
    {"bf16", {kDLBfloat, 16, 1}, nullptr, "bfloat16"},
    {"f32", {kDLFloat, 32, 1}, "f", "float32"},
    {"f64", {kDLFloat, 64, 1}, "d", "float64"},
};

template <typename T>
T Read(const void* element) {
  T value;
  std::memcpy(&value, element, sizeof value);
  return value;
}

template <typename T>
bool Write(T value, void* element) {
  std::memcpy(element, &value, sizeof value);
  return true;
}

bool WriteInteger(PyObject* number, void* element, int bits, bool is_signed) {
  if (PyFloat_Check(number)) {
    PyErr_SetString(PyExc_TypeError, "a float where an integer is declared; int(x) makes it one");
    return false;
  }
  const long long value = PyLong_AsLongLong(number);
  if (value == -1 && PyErr_Occurred() != nullptr) return false;
  if (bits == 64) return Write(static_cast<int64_t>(value), element);
  const long long most = (1LL << (is_signed ? bits - 1 : bits)) - 1;
  if (value > most || value < (is_signed ? -most - 1 : 0)) {
    PyErr_Format(PyExc_OverflowError, "%lld is no integer of %d bits", value, bits);
    return false;
  }
  return bits == 32 ? Write(static_cast<int32_t>(value), element)
                    : Write(static_cast<uint8_t>(value), element);
}

}  // namespace

const DType* FindDType(DLDataType type) {
  for (const DType& dtype : kDTypes) {
    if (dtype.type.code == type.code && dtype.type.bits == type.bits && type.lanes == 1) {
      return &dtype;
    }
  }
  return nullptr;
}

const DType* FindFormat(const char* format, Py_ssize_t item_bytes) {
  if (format == nullptr) return FindDType({kDLUInt, 8, 1});
  if (*format == '@' || *format == '=' || *format == '<')
    ++format;  // the low bytes come first here
  if (*format == '\0' || format[1] != '\0') return nullptr;
  const char letter = *format == 'q' ? 'l' : *format;  // long and long long are alike here
  for (const DType& dtype : kDTypes) {
    if (dtype.format != nullptr && *dtype.format == letter && dtype.type.bits == 8 * item_bytes) {
      return &dtype;
    }
  }
  return nullptr;
}

std::string TypeTextOf(const DType& dtype) {
  const int code = dtype.type.code;
  if (code == kDLBfloat) return "";
  const char kind = code == CGRAPH_DLBOOL ? 'b'
                    : code == kDLInt      ? 'i'
                    : code == kDLUInt     ? 'u'
                                          : 'f';
  const int bytes = dtype.type.bits / 8;
  return std::string(bytes == 1 ? "|" : "<") + kind + std::to_string(bytes);
}

const DType* FindTypeText(std::string_view text) {
  for (const DType& dtype : kDTypes) {
    if (dtype.format != nullptr && TypeTextOf(dtype) == text) return &dtype;
  }
  return nullptr;
}

std::string NumpyConversion(DLDataType to) {
  // An array of ml_dtypes' gives no buffer, and its bits are taken.
  if (to.code == kDLBfloat) return "y.astype(ml_dtypes.bfloat16).view(numpy.uint16)";
  return fmt::format("y.astype(numpy.{}{})", FindDType(to)->long_name,
                     to.code == CGRAPH_DLBOOL ? "_" : "");
}

std::string TorchConversion(DLDataType to) {
  return fmt::format("y.to(torch.{})", FindDType(to)->long_name);
}

PyObject* ReadNumber(const void* element, DLDataType type) {
  const int bits = type.bits;
  switch (type.code) {
    case CGRAPH_DLBOOL:
      return PyBool_FromLong(Read<uint8_t>(element));
    case kDLUInt:
      return PyLong_FromLong(Read<uint8_t>(element));
    case kDLInt:
      return PyLong_FromLongLong(bits == 8    ? Read<int8_t>(element)
                                 : bits == 32 ? Read<int32_t>(element)
                                              : Read<int64_t>(element));
    case kDLBfloat:
      return PyFloat_FromDouble(static_cast<float>(Read<device::BF16>(element)));
    default:
      return PyFloat_FromDouble(bits == 16   ? static_cast<float>(Read<device::F16>(element))
                                : bits == 32 ? Read<float>(element)
                                             : Read<double>(element));
  }
}

bool WriteNumber(PyObject* number, void* element, DLDataType type) {
  if (type.code == kDLInt || type.code == kDLUInt) {
    return WriteInteger(number, element, type.bits, type.code == kDLInt);
  }
  if (type.code == CGRAPH_DLBOOL) {
    const int truth = PyObject_IsTrue(number);
    return truth >= 0 && Write(static_cast<uint8_t>(truth), element);
  }
  const double value = PyFloat_AsDouble(number);
  if (value == -1.0 && PyErr_Occurred() != nullptr) return false;
  if (type.code == kDLBfloat) return Write(device::BF16(value), element);
  if (type.bits == 16) return Write(device::F16(value), element);
  return type.bits == 32 ? Write(static_cast<float>(value), element) : Write(value, element);
}

}  // namespace cgraph::methods
