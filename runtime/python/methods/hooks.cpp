// What runtime/native calls in libcgraph_python.so: modules are imported, methods found and called,
// objects made, saved, restored and ended, by the interpreter that is in the process.
#include <stdlib.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/kinds/native.h"
#include "runtime/python/methods/call.h"
#include "runtime/python/methods/gil.h"
#include "runtime/python/methods/helper.h"
#include "runtime/python/methods/object.h"
#include "runtime/python/methods/view.h"

#define CGRAPH_HOOK extern "C" __attribute__((visibility("default")))

namespace cgraph::methods {
namespace {

using Fail = void (*)(void* error, const char* text);

// Begins an interpreter as `program`, such as /x/venv/bin/python3, whose environment it has. What
// has replaced Py_SetProgramName is not in the stable part of the API.
void Begin(const char* program) {
  // A worker has one core: libraries that would use all of them wait for each other.
  setenv("OMP_NUM_THREADS", "1", 0);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  if (*program != '\0') Py_SetProgramName(Py_DecodeLocale(program, nullptr));
#pragma GCC diagnostic pop
  Py_InitializeEx(0);  // signals stay the runner's
  PyEval_SaveThread();
}

Reference Texts(const char* const* texts, int32_t count) {
  Reference list(PyList_New(count));
  for (int32_t i = 0; list && i < count; ++i) {
    PyObject* text = PyUnicode_DecodeFSDefault(texts[i]);
    if (text == nullptr) return Reference();
    PyList_SetItem(list.get(), i, text);
  }
  return list;
}

}  // namespace
}  // namespace cgraph::methods

using namespace cgraph::methods;

CGRAPH_HOOK int32_t cgraph_extern_version() { return CGRAPH_EXTERN_VERSION; }
CGRAPH_HOOK int32_t cgraph_extern_cuda() { return 1; }

// Makes the modules that the user has named ready to be found. Starts Python where there is none.
CGRAPH_HOOK int32_t cgraph_python_open(const char* program, const char* const* modules,
                                       int32_t count, Fail fail, void* error) {
  const bool is_ours = Py_IsInitialized() == 0;
  if (is_ours) Begin(program);
  const Gil gil;
  const bool is_open =
      MakeViewType() && LoadHelper(is_ours) && CallHelper("open_modules", Texts(modules, count));
  if (!is_open) fail(error, TakeError().c_str());
  return is_open ? 0 : 1;
}

CGRAPH_HOOK int32_t cgraph_python_import(const char* symbol, Fail fail, void* error) {
  const Gil gil;
  const Reference raised = CallHelper("import_module", Reference(PyUnicode_FromString(symbol)));
  if (raised && raised.get() == Py_None) return 0;
  const char* text = raised ? PyUnicode_AsUTF8AndSize(raised.get(), nullptr) : nullptr;
  fail(error, text != nullptr ? text : TakeError().c_str());
  return raised ? cgraph::kImportRaised : 1;
}

CGRAPH_HOOK void* cgraph_find_method(const char* symbol, Fail fail, void* error) {
  const Gil gil;
  const Reference found = CallHelper("find", Reference(PyUnicode_FromString(symbol)));
  if (!found) {
    fail(error, TakeError().c_str());
    return nullptr;
  }
  return MakeMethod(found.get());  // stays: a plan is loaded once, and libraries stay too
}

CGRAPH_HOOK int32_t cgraph_call_method(const cgraph_call* call) {
  const Gil gil;
  const std::string problem = Call(*static_cast<Method*>(call->method), *call);
  return problem.empty() ? 0 : cgraph_fail(call, problem.c_str());
}

CGRAPH_HOOK void* cgraph_create_object(const cgraph_actor* actor) {
  const Gil gil;
  const Reference parameters = MakeParameters(actor->parameters, actor->parameter_count);
  const Reference gpu = Object::GpuOf(actor->device);
  Reference made =
      parameters ? CallHelper("create", Texts(actor->symbols, actor->symbol_count), parameters, gpu)
                 : Reference();
  if (made) return new Object(std::move(made), actor->device);
  return cgraph_fail_create(actor, TakeError().c_str());
}

CGRAPH_HOOK void cgraph_destroy_object(void* object) {
  if (Py_IsInitialized() == 0) return;  // it went with the interpreter
  const Gil gil;
  delete static_cast<Object*>(object);
}

CGRAPH_HOOK int32_t cgraph_save_object(void* object, const cgraph_saving* saving) {
  const Gil gil;
  const auto fail = [&] {
    saving->fail(saving->error, TakeError().c_str());
    return 1;
  };
  const auto* of = static_cast<Object*>(object);
  const Reference why_not = CallHelper("why_not_saved", of->made);
  if (!why_not) return fail();
  if (why_not.get() != Py_None) {
    const char* text = PyUnicode_AsUTF8AndSize(why_not.get(), nullptr);
    if (text == nullptr) return fail();
    if (*text != '\0') saving->fail(saving->error, text);
    return CGRAPH_NOT_SAVED;
  }
  if (saving->write == nullptr) return 0;
  const Reference bytes = CallHelper("save", of->made, Object::GpuOf(of->device));
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (!bytes || PyBytes_AsStringAndSize(bytes.get(), &data, &size) != 0) return fail();
  saving->write(saving->to, data, static_cast<uint64_t>(size));
  return 0;
}

CGRAPH_HOOK int32_t cgraph_restore_object(void* object, const cgraph_restoring* restoring) {
  const Gil gil;
  const Reference bytes(PyBytes_FromStringAndSize(static_cast<const char*>(restoring->data),
                                                  static_cast<Py_ssize_t>(restoring->size)));
  const auto* of = static_cast<Object*>(object);
  if (CallHelper("restore", of->made, bytes, Object::GpuOf(of->device))) return 0;
  restoring->fail(restoring->error, TakeError().c_str());
  return 1;
}
