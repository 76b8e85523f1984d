// Numbers of Python's as inputs without dimensions.
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "runtime/device/numbers/half.h"
#include "runtime/plan/kinds.h"
#include "runtime/python/binding/errors.h"
#include "runtime/python/binding/tensors/borrow.h"

namespace nb = nanobind;

namespace cgraph::python {
namespace {

// Returns the int of Python's for a port of whole numbers; raises where it does not fit.
int64_t WholeOf(nb::handle object, const InputPort& port) {
  int overflow = 0;
  const int64_t value = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
  const int64_t bits = 8 * plan::DTypeBytes(port.dtype);
  const bool is_signed = port.dtype != plan::DType::u8;
  const int64_t most = bits == 64 ? INT64_MAX : (int64_t{1} << (bits - is_signed)) - 1;
  const int64_t least = is_signed ? -most - 1 : 0;
  if (overflow == 0 && value >= least && value <= most) return value;
  const std::string given =
      overflow == 0 ? fmt::format("{}", value) : std::string("an int of more than 64 bits");
  Raise("InputError",
        fmt::format("`{}` is {}; {} holds {} to {}", port.name, given, port.type, least, most));
}

// Raises where a finite number would become inf.
[[noreturn]] void RaiseTooLarge(const std::string& given, const InputPort& port) {
  const bool is_f64 = port.dtype == plan::DType::f64;
  const double most = is_f64 ? std::numeric_limits<double>::max()
                      : port.dtype == plan::DType::f32  ? std::numeric_limits<float>::max()
                      : port.dtype == plan::DType::bf16 ? 0x1.fep127
                                                        : 65504;
  Raise("InputError", fmt::format("`{0}` is {1}; {2} holds {3:.{4}g} to {5:.{4}g}, and inf where "
                                  "that is meant: `float(\"inf\")`",
                                  port.name, given, port.type, -most, is_f64 ? 17 : 9, most));
}

}  // namespace

// A number of Python's, for a port without dimensions.
bool Borrowed::TakeNumber(nb::handle object, const InputPort& port) {
  const auto hold = [&](auto value) {
    number_ = 0;
    std::memcpy(&number_, &value, sizeof value);
    kind_ = Kind::kNumber;
    rank_ = 0;
    data_ = nullptr;
    return true;
  };
  if (port.dtype == plan::DType::bool_) {
    return PyBool_Check(object.ptr()) && hold(static_cast<uint8_t>(object.ptr() == Py_True));
  }
  if (PyBool_Check(object.ptr())) return false;
  const bool whole = PyLong_Check(object.ptr());
  if (whole && !plan::IsFloat(port.dtype)) return hold(WholeOf(object, port));  // low bytes first
  if (!whole && !PyFloat_Check(object.ptr())) return false;
  if (!whole && !plan::IsFloat(port.dtype)) {
    Raise("InputError",
          fmt::format("`{0}` is {1}, a float; {2} holds whole numbers, and nothing is converted: "
                      "`round({0})` makes one",
                      port.name, PyFloat_AsDouble(object.ptr()), port.type));
  }
  const double value = PyFloat_AsDouble(object.ptr());
  if (value == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    RaiseTooLarge("an int beyond all floats", port);
  }
  const auto hold_rounded = [&](auto rounded) {
    if (std::isinf(static_cast<double>(rounded)) && !std::isinf(value)) {
      RaiseTooLarge(fmt::format("{}", value), port);
    }
    return hold(rounded);
  };
  switch (port.dtype) {
    case plan::DType::f16:
      return hold_rounded(device::F16(value));
    case plan::DType::bf16:
      return hold_rounded(device::BF16(value));
    case plan::DType::f32:
      return hold_rounded(static_cast<float>(value));
    default:
      return hold(value);
  }
}

}  // namespace cgraph::python
