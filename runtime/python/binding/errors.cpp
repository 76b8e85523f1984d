#include "runtime/python/binding/errors.h"

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace cgraph::python {
namespace {

const char* ClassOf(StatusCode code, During during) {
  switch (code) {
    case StatusCode::kFailed:  // while a plan is loaded there is no engine that stays usable
      return during == During::kLoad ? "PlanError" : "ExecutionError";
    case StatusCode::kTimeout:
      return "TimeoutError";
    case StatusCode::kLost:
      return "LostError";
    case StatusCode::kClosed:
      return "ClosedError";
    case StatusCode::kInvalid:
      if (during == During::kSubmit) return "InputError";
      [[fallthrough]];
    case StatusCode::kNotFound:
    case StatusCode::kUnsupported:
      return during == During::kLoad ? "PlanError" : "Error";
    case StatusCode::kOk:
    case StatusCode::kCapacity:
    case StatusCode::kInternal:
      break;
  }
  return "Error";
}

}  // namespace

nb::object TextOf(const std::string& message) {
  nb::object text = nb::steal(
      PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "replace"));
  if (!text.is_valid()) throw nb::python_error();
  return text;
}

void RaiseBuiltin(PyObject* type, const std::string& message) {
  PyErr_SetObject(type, TextOf(message).ptr());
  throw nb::python_error();
}

void Raise(const char* name, const std::string& message) {
  const nb::object type = nb::module_::import_("cgraph.errors").attr(name);
  RaiseBuiltin(type.ptr(), message);
}

void RaiseStatus(const Status& status, During during) {
  Raise(ClassOf(status.code(), during), status.message());
}

}  // namespace cgraph::python
