#include "runtime/python/methods/call.h"

#include <cxxabi.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "runtime/python/methods/gpu/call_stream.h"
#include "runtime/python/methods/helper.h"
#include "runtime/python/methods/object.h"
#include "runtime/python/methods/view.h"

namespace cgraph::methods {

// Method: what is called, and with what. The part behind `is_prepared` comes of the first call: the
// names of what a method is given are the same in all of them.
struct Method {
  struct Parameter {  // in the order of the declaration
    PyObject* value;  // known when the plan is compiled; null: the next argument
    bool is_written;  // then the method is given a copy
  };
  struct States {  // a keyword
    PyObject* name;
    int32_t count;  // of the next states
    bool several;   // given as a tuple
    bool is_taken;  // the function has a parameter of that name
  };

  PyObject* function = nullptr;  // or the name of a method of the object
  bool is_of_object = false;
  bool is_given_object = false;  // it, and what is kept for it, before all else
  bool takes_out = false;
  PyObject* taken = nullptr;    // names of its parameters, or None: any
  PyObject* written = nullptr;  // names of arguments that it writes: a tuple

  bool is_prepared = false;
  std::vector<Parameter> parameters;
  std::vector<States> states;
};

namespace {

// Views of a call, each with the name that it has there.
class Views {
 public:
  // `stream`: of a call on a GPU, else null.
  Views(size_t most, CallStream* stream) : stream_(stream) { views_.reserve(most); }
  Views(const Views&) = delete;
  ~Views() { TakeAllBack(); }

  // Returns a new reference; null with an error set.
  PyObject* AddCopy(const DLTensor& tensor, const char* name) {
    if (stream_ != nullptr) {
      PyErr_Format(PyExc_ValueError,
                   "it says that it writes `%s`, and on a GPU is given no copy; it makes one: "
                   "torch.from_dlpack(%s).clone()",
                   name, name);
      return nullptr;
    }
    const size_t bytes = static_cast<size_t>(cgraph_size(&tensor)) * (tensor.dtype.bits / 8);
    auto& copy = copies_.emplace_back(bytes);
    if (bytes != 0) std::memcpy(copy.data(), cgraph_data(&tensor), bytes);
    DLTensor copied = tensor;
    copied.data = copy.data();
    copied.byte_offset = 0;
    return Add(copied, true, name);
  }
  PyObject* Add(const DLTensor& tensor, bool is_writable, const char* name) {
    View* view = MakeView(tensor, is_writable, stream_);
    if (view == nullptr) return nullptr;
    views_.push_back({view, name});
    auto* object = reinterpret_cast<PyObject*>(view);
    Py_INCREF(object);
    return object;
  }
  // Ends them. Returns the name of one of which something is left; null where there is none.
  const char* TakeAllBack() {
    if (AnyUsed()) PyGC_Collect();  // what is left may be held by nothing but itself
    const char* left = nullptr;
    for (const Named& named : views_) {
      if (!TakeBack(named.view)) left = named.name;
    }
    views_.clear();
    return left;
  }

 private:
  struct Named {
    View* view;
    const char* name;
  };
  bool AnyUsed() const {
    return std::any_of(views_.begin(), views_.end(),
                       [](const Named& named) { return MayBeUsed(named.view); });
  }
  CallStream* const stream_;
  std::vector<std::vector<char>> copies_;
  std::vector<Named> views_;
};

bool PrepareParameters(Method& method, const cgraph_call& call) {
  for (int32_t i = 0; i < call.name_count; ++i) {
    PyObject* value = nullptr;
    for (int32_t p = 0; p < call.parameter_count; ++p) {
      if (std::strcmp(call.names[i], call.parameters[p].name) != 0) continue;
      value = MakeParameter(call.parameters[p]);
      if (value == nullptr) return false;
    }
    const Reference name(PyUnicode_FromStringAndSize(
        call.names[i], static_cast<Py_ssize_t>(std::strcspn(call.names[i], "[."))));
    const int is_written = name ? PySequence_Contains(method.written, name.get()) : -1;
    if (is_written < 0) return false;
    method.parameters.push_back({value, is_written != 0});
  }
  return true;
}

bool PrepareStates(Method& method, const cgraph_call& call) {
  const Reference names(PyList_New(call.state_count));
  for (int32_t i = 0; names && i < call.state_count; ++i) {
    PyObject* name = PyUnicode_FromString(call.state_names[i]);
    if (name == nullptr) return false;  // a plan's text may be anything
    PyList_SetItem(names.get(), i, name);
  }
  Py_INCREF(method.taken);
  const Reference groups = CallHelper("group", names, Reference(method.taken));
  for (Py_ssize_t i = 0; groups && i < PyTuple_Size(groups.get()); ++i) {
    Method::States states{};
    int several = 0, is_taken = 0;
    if (PyArg_ParseTuple(PyTuple_GetItem(groups.get(), i), "Oipp", &states.name, &states.count,
                         &several, &is_taken) == 0) {
      return false;
    }
    Py_INCREF(states.name);
    states.several = several != 0;
    states.is_taken = is_taken != 0;
    method.states.push_back(states);
  }
  return static_cast<bool>(groups);
}

Reference Arguments(const Method& method, const cgraph_call& call, const Object& object,
                    Views& views) {
  const size_t first = method.is_given_object ? 2 : 0;
  Reference all(PyTuple_New(static_cast<Py_ssize_t>(first + method.parameters.size())));
  if (all && method.is_given_object) {
    PyTuple_SetItem(all.get(), 0, Reference::To(object.made.get()).release());
    PyTuple_SetItem(all.get(), 1, Reference::To(object.kept.get()).release());
  }
  int32_t next = 0;
  for (size_t i = 0; all && i < method.parameters.size(); ++i) {
    const auto [known, is_written] = method.parameters[i];
    PyObject* value = known;
    if (value != nullptr) {
      Py_INCREF(value);
    } else if (next < call.argument_count) {
      const DLTensor& argument = call.arguments[next++];
      value = is_written ? views.AddCopy(argument, call.names[i])
                         : views.Add(argument, false, call.names[i]);
    }
    if (value == nullptr) return Reference();
    PyTuple_SetItem(all.get(), static_cast<Py_ssize_t>(first + i), value);
  }
  return all;
}

// Adds tensors as one keyword: a view, or a tuple of views.
bool AddKeyword(PyObject* keywords, PyObject* name, const DLTensor* tensors, int32_t count,
                bool several, bool is_writable, const char* said, Views& views) {
  if (!several) {
    const Reference view(views.Add(tensors[0], is_writable, said));
    return view && PyDict_SetItem(keywords, name, view.get()) == 0;
  }
  const Reference all(PyTuple_New(count));
  for (int32_t i = 0; all && i < count; ++i) {
    PyObject* view = views.Add(tensors[i], is_writable, said);
    if (view == nullptr) return false;
    PyTuple_SetItem(all.get(), i, view);
  }
  return all && PyDict_SetItem(keywords, name, all.get()) == 0;
}

// Sets the keywords of states and of `out`, if there are any. False with an error set.
bool Keywords(const Method& method, const cgraph_call& call, Views& views, Reference& keywords) {
  if (method.states.empty() && !method.takes_out) return true;
  keywords = Reference(PyDict_New());
  if (!keywords) return false;
  int32_t next = 0;
  for (const Method::States& states : method.states) {
    if (states.is_taken &&
        !AddKeyword(keywords.get(), states.name, call.states + next, states.count, states.several,
                    next >= call.read_count, call.state_names[next], views)) {
      return false;
    }
    next += states.count;
  }
  if (!method.takes_out) return true;
  static PyObject* const out = PyUnicode_InternFromString("out");
  return AddKeyword(keywords.get(), out, call.results, call.result_count, call.result_count != 1,
                    true, "out", views);
}

// Calls a method. Where the interpreter ends meanwhile, it ends the thread when that asks for the
// lock again, and what the thread has would be destroyed without it; so the thread stays here
// instead, until the process is gone.
Reference CallMethod(PyObject* callee, const Reference& arguments, const Reference& keywords) {
  try {
    return Reference(PyObject_Call(callee, arguments.get(), keywords.get()));
  } catch (const abi::__forced_unwind&) {
    for (;;) pause();
  }
}

std::string WithError(std::string problem) {
  return PyErr_Occurred() == nullptr ? problem : problem + ": " + TakeError();
}

// Calls the method with these views, and copies what it returns.
std::string CallOn(Views& views, const Method& method, const cgraph_call& call,
                   const Object& object, CallStream* stream) {
  const Reference bound(method.is_of_object ? PyObject_GetAttr(object.made.get(), method.function)
                                            : nullptr);
  PyObject* callee = method.is_of_object ? bound.get() : method.function;
  const Reference arguments = Arguments(method, call, object, views);
  Reference keywords;
  if (callee == nullptr || !arguments || !Keywords(method, call, views, keywords)) {
    return TakeError();
  }
  const Reference returned = CallMethod(callee, arguments, keywords);
  if (stream != nullptr) stream->MakeContextCurrent();
  if (!returned) return TakeError();
  if (method.takes_out && returned.get() == Py_None) return "";  // it is there
  // As nn.Module.eval() does.
  if (call.result_count == 0 && returned.get() == object.made.get()) return "";
  std::string problem = CopyResults(returned.get(), call.results, call.result_count,
                                    method.is_given_object ? 1 : 0, stream);
  return problem.empty() ? problem : WithError(std::move(problem));
}

// Calls the method with views of the call's tensors, and copies what it returns. `stream`: of a
// call on a GPU, else null.
std::string CallWithViews(const Method& method, const cgraph_call& call, const Object& object,
                          CallStream* stream) {
  Views views(static_cast<size_t>(call.argument_count) + call.state_count + call.result_count,
              stream);
  std::string problem = CallOn(views, method, call, object, stream);
  const char* left = views.TakeAllBack();
  if (left == nullptr) return problem;
  if (!problem.empty()) {  // what was raised may be what holds it
    const Reference text(
        PyUnicode_DecodeUTF8(problem.data(), static_cast<Py_ssize_t>(problem.size()), "replace"));
    if (!CallHelper("forget_raised", text)) PyErr_Clear();
    return problem;
  }
  return fmt::format(
      "something that was made of `{}` without a copy is still held, and its memory "
      "is the graph's again when the call is over; keep a copy: "
      "torch.from_dlpack({}).clone(){}",
      left, left, stream == nullptr ? fmt::format(", numpy.array({})", left) : "");
}

// CurrentStream: for its lifetime, the stream and the GPU of a call are the thread's for methods
// that ask, and PyTorch's where it is loaded.
class CurrentStream {
 public:
  explicit CurrentStream(const CallStream& stream)
      : scope_(CallHelper("begin_call", Reference(PyLong_FromLong(stream.gpu())),
                          Reference(PyLong_FromVoidPtr(stream.handle())))) {}
  ~CurrentStream() {
    if (!CallHelper("end_call", scope_)) PyErr_Clear();
  }
  CurrentStream(const CurrentStream&) = delete;
  // Else Python has an error set.
  bool has_begun() const { return static_cast<bool>(scope_); }

 private:
  const Reference scope_;
};

std::string CallOnGpu(const Method& method, const cgraph_call& call, Object& object) {
  const Driver* driver = Driver::Find();
  if (driver == nullptr) return "CUDA's driver lacks functions that methods in Python need";
  object.copied.DropCopied();
  CallStream stream(*driver, object.device.device_id, call);
  std::string problem;
  {
    const CurrentStream current(stream);
    problem = current.has_begun() ? CallWithViews(method, call, object, &stream) : TakeError();
  }
  stream.MakeContextCurrent();
  // Also where the call has failed: what it gave to streams runs.
  for (const std::string& error : {stream.Join(), stream.HandOver(object.copied)}) {
    if (problem.empty()) problem = error;
  }
  return problem;
}

}  // namespace

Method* MakeMethod(PyObject* found) {
  auto* method = new Method;
  method->function = PyTuple_GetItem(found, 0);
  method->is_of_object = PyUnicode_Check(method->function) != 0;
  method->takes_out = PyTuple_GetItem(found, 1) == Py_True;
  method->taken = PyTuple_GetItem(found, 2);
  method->written = PyTuple_GetItem(found, 3);
  method->is_given_object = PyTuple_GetItem(found, 4) == Py_True;
  Py_INCREF(method->written);
  Py_INCREF(method->taken);
  Py_INCREF(method->function);
  return method;
}

std::string Call(Method& method, const cgraph_call& call) {
  if (!method.is_prepared) {
    method.parameters.clear();
    method.states.clear();
    if (!PrepareParameters(method, call) || !PrepareStates(method, call)) return TakeError();
    method.is_prepared = true;
  }
  Object& object = *static_cast<Object*>(call.object);
  return call.stream == nullptr ? CallWithViews(method, call, object, nullptr)
                                : CallOnGpu(method, call, object);
}

}  // namespace cgraph::methods
