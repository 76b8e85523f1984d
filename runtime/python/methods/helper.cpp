#include "runtime/python/methods/helper.h"

#include <utility>

#include "runtime/python/methods/gil.h"

namespace cgraph::methods {
namespace {

const char kHelper[] = {
#include "runtime/python/methods/helper.inc"
};
const char kGpus[] = {
#include "runtime/python/methods/gpus.inc"
};
const char kStored[] = {
#include "runtime/python/methods/stored.inc"
};
const char kAutograd[] = {
#include "runtime/python/methods/autograd.inc"
};

PyObject* helper = nullptr;  // the dict of the module

PyObject* NoteEnd(PyObject*, PyObject*) {
  Attachment::ending = true;
  Py_RETURN_NONE;
}

// Tells threads of ours that the interpreter is about to end.
bool WatchEnd() {
  static PyMethodDef note = {"note_end", NoteEnd, METH_NOARGS, nullptr};
  return static_cast<bool>(CallHelper("at_end", Reference(PyCFunction_New(&note, nullptr))));
}

}  // namespace

void BeginThread() {
  if (helper == nullptr) return;
  const Reference done(PyObject_CallNoArgs(PyDict_GetItemString(helper, "begin_thread")));
  PyErr_Clear();
}

bool LoadHelper(bool is_ours) {
  if (helper != nullptr) return true;
  Reference names(PyDict_New());
  const Reference name(PyUnicode_FromString("cgraph_methods"));
  if (!names || !name || PyDict_SetItemString(names.get(), "__name__", name.get()) != 0 ||
      PyDict_SetItemString(names.get(), "__builtins__", PyEval_GetBuiltins()) != 0) {
    return false;
  }
  for (const auto& [text, file] :
       {std::pair(kHelper, "cgraph/helper.py"), std::pair(kGpus, "cgraph/gpus.py"),
        std::pair(kStored, "cgraph/stored.py"), std::pair(kAutograd, "cgraph/autograd.py")}) {
    const Reference code(Py_CompileString(text, file, Py_file_input));
    if (!code) return false;
    const Reference done(PyEval_EvalCode(code.get(), names.get(), names.get()));
    if (!done) return false;
  }
  helper = names.release();
  if (is_ours) {
    const Reference function(PyObject_CallNoArgs(PyDict_GetItemString(helper, "start_process")));
    if (!function) return false;
  }
  return WatchEnd();
}

PyObject* HelperFunction(const char* name) { return PyDict_GetItemString(helper, name); }

PyObject* MakeParameter(const cgraph_parameter& parameter) {
  if (parameter.text != nullptr) return PyUnicode_FromString(parameter.text);
  if (parameter.real != nullptr) return PyFloat_FromDouble(*parameter.real);
  if (parameter.count == 1) return PyLong_FromLongLong(parameter.ints[0]);
  PyObject* list = PyList_New(parameter.count);
  for (int64_t i = 0; list != nullptr && i < parameter.count; ++i) {
    PyList_SetItem(list, i, PyLong_FromLongLong(parameter.ints[i]));
  }
  return list;
}

Reference MakeParameters(const cgraph_parameter* parameters, int32_t count) {
  Reference all(PyDict_New());
  for (int32_t i = 0; all && i < count; ++i) {
    const Reference value(MakeParameter(parameters[i]));
    if (!value || PyDict_SetItemString(all.get(), parameters[i].name, value.get()) != 0) {
      return Reference();
    }
  }
  return all;
}

std::string TakeError() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  if (type == nullptr) return "an error that Python does not say";
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace != nullptr && value != nullptr) PyException_SetTraceback(value, trace);
  const Reference held_type(type), error(value), held_trace(trace);
  if (helper == nullptr) return "the library's own code cannot be loaded";
  const Reference text = CallHelper("describe", error);
  const char* said = text ? PyUnicode_AsUTF8AndSize(text.get(), nullptr) : nullptr;
  if (said != nullptr) return said;
  PyErr_Clear();
  return "an exception that cannot be printed";
}

}  // namespace cgraph::methods
