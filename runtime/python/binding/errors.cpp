#include "runtime/python/binding/errors.h"

#include <nanobind/nanobind.h>

#include "runtime/base/text.h"

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
  const std::string shown = Printable(message);
  nb::object text = nb::steal(
      PyUnicode_DecodeUTF8(shown.data(), static_cast<Py_ssize_t>(shown.size()), "replace"));
  if (!text.is_valid()) throw nb::python_error();
  return text;
}

void BindErrors(nb::module_& module) {
  module.def("printable", [](nb::bytes text) { return TextOf({text.c_str(), text.size()}); });
  module.def("printable", [](nb::str text) {  // a file's name may have bytes that are no UTF-8
    const nb::object bytes = text.attr("encode")("utf-8", "surrogateescape");
    return TextOf({nb::cast<nb::bytes>(bytes).c_str(), nb::cast<nb::bytes>(bytes).size()});
  });
}

void RaiseBuiltin(PyObject* type, const std::string& message) {
  PyErr_SetObject(type, TextOf(message).ptr());
  throw nb::python_error();
}

void Raise(const char* name, const std::string& message) {
  const nb::object type = nb::module_::import_("cgraph.errors").attr(name);
  RaiseBuiltin(type.ptr(), message);
}

// Python runs its handlers of signals on the main thread alone, so elsewhere a method has raised a
// KeyboardInterrupt itself, which is an error as others are. On the main thread only code runs that
// the program's own call has begun: modules that are imported, objects that are made or saved. What
// it raises there is the program's, as of every function that the program calls.
nb::object TakeCause(const Status& status) {
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  const nb::object methods =
      nb::steal(PyImport_GetModule(nb::str("cgraph_methods").ptr()));  // none: nothing in Python
  if (!methods.is_valid()) {
    PyErr_Clear();
    return nb::none();
  }
  const nb::object taken = methods.attr("_take_raised")(TextOf(status.message()));
  if (taken.is_none()) return taken;
  const nb::object cause = taken[0];
  if (nb::cast<bool>(taken[1]) &&
      PyErr_GivenExceptionMatches(cause.ptr(), PyExc_KeyboardInterrupt) != 0) {
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(cause.ptr())), cause.ptr());
    throw nb::python_error();
  }
  return cause;
}

void RaiseStatus(const Status& status, During during, nb::handle cause) {
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  const nb::object type =
      nb::module_::import_("cgraph.errors").attr(ClassOf(status.code(), during));
  const nb::object error = type(TextOf(status.message()));
  if (!cause.is_none()) PyException_SetCause(error.ptr(), nb::borrow(cause).release().ptr());
  PyErr_SetObject(type.ptr(), error.ptr());
  throw nb::python_error();
}

void RaiseStatus(const Status& status, During during) {
  RaiseStatus(status, during, TakeCause(status));
}

}  // namespace cgraph::python
