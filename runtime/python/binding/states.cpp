#include "runtime/python/binding/module.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "runtime/base/kinds/native.h"
#include "runtime/engine/states/saved_states.h"
#include "runtime/native/kernels.h"
#include "runtime/plan/kinds.h"
#include "runtime/python/binding/engine_handle.h"
#include "runtime/python/binding/errors.h"
#include "runtime/python/binding/tensors/array.h"
#include "runtime/python/binding/tensors/borrow.h"
#include "runtime/python/binding/without_gil.h"

namespace nb = nanobind;

namespace cgraph::python {
namespace {

void RaiseUnless(const Status& status, const EngineHandle& handle) {
  if (!status.ok() && (PyErr_Occurred() != nullptr || PyErr_CheckSignals() != 0)) {
    throw nb::python_error();  // Ctrl-C has ended it
  }
  if (!status.ok()) handle.RaiseStatus(status, During::kSubmit);
}

// Says what makes the object of a place, of a kernel that makes one: "python:nets:Encoder",
// "libmine.so"; nothing where the methods are functions of Python's, whose object is None.
std::string MakerOf(const plan::Kernel& kernel) {
  if (kernel.library != kPythonLibrary) return kernel.library;
  for (const auto& attribute : kernel.body[0]->attributes) {
    if (attribute->name != extern_attributes::kMethod) continue;
    const auto symbol = ReadPythonSymbol(attribute->text);
    if (!symbol || symbol->class_name.empty()) continue;
    return fmt::format("{}:{}:{}", kPythonLibrary, symbol->module, symbol->class_name);
  }
  return "";
}

// Returns by place the names of its states, and what makes its object: empty, where it has none.
nb::dict Places(EngineHandle& handle) {
  const Engine& engine = handle.Use();
  std::map<std::string, std::string> makers;
  for (const auto& kernel : engine.plan().kernels) {
    if (!native::MakesObject(*kernel)) continue;
    for (const auto& attribute : kernel->body[0]->attributes) {
      if (attribute->name == extern_attributes::kPlace) makers[attribute->text] = MakerOf(*kernel);
    }
  }
  nb::dict all;
  for (const auto& actor : engine.plan().actors) {
    nb::list names;
    for (const auto& state : actor->states) {
      if (state->name != kNativeObjectState) names.append(state->name);
    }
    all[actor->name.c_str()] = nb::make_tuple(names, makers[actor->name]);
  }
  return all;
}

const Engine::State& Find(const Engine& engine, const std::string& name) {
  for (const Engine::State& state : engine.States()) {
    if (state.name == name) return state;
  }
  RaiseBuiltin(PyExc_KeyError, name);
}

Array ReadOne(EngineHandle& handle, const std::string& name) {
  Engine& engine = handle.Use();
  const Engine::State& state = Find(engine, name);
  handle.AwaitRest();
  auto copied = std::make_shared<CopiedTensor>();
  copied->bytes.resize(state.bytes);
  copied->tensor.data = copied->bytes.data();
  copied->tensor.dtype = state.dtype;
  copied->tensor.rank = static_cast<uint8_t>(state.dims.size());
  std::copy(state.dims.begin(), state.dims.end(), copied->tensor.dims);
  const Status status = [&] {
    const WithoutGil unlocked;
    return engine.ReadState(name, copied->bytes);
  }();
  RaiseUnless(status, handle);
  return Array(std::move(copied));
}

// Describes the state as an input port, `w` of the place `stage[0]`, to import a tensor into it.
InputPort PortOf(const Engine::State& state, const std::string& name) {
  InputPort port;
  port.name = name;
  port.dtype = state.dtype;
  port.rank = static_cast<uint8_t>(state.dims.size());
  port.type = fmt::format("{}[{}]", plan::DTypeName(state.dtype), fmt::join(state.dims, ", "));
  return port;
}

void WriteOne(EngineHandle& handle, const std::string& place, const std::string& name,
              nb::handle value) {
  Engine& engine = handle.Use();
  const std::string whole = place + "." + name;
  const Engine::State& state = Find(engine, whole);
  const InputPort port = PortOf(state, name);
  Borrowed borrowed;
  borrowed.Take(value, port, place, /*engine=*/nullptr);
  const Input input = borrowed.AsInput(port);
  if (!std::equal(input.dims.begin(), input.dims.end(), state.dims.begin(), state.dims.end())) {
    Raise("InputError",
          fmt::format("`{}` takes `{}` as {}, and was given {}[{}]", place, name, port.type,
                      plan::DTypeName(state.dtype), fmt::join(input.dims, ", ")));
  }
  const Status status = [&] {
    const WithoutGil unlocked;
    return engine.WriteState(whole, {static_cast<const uint8_t*>(input.data), state.bytes});
  }();
  RaiseUnless(status, handle);
}

// Returns a note about the file; it may be empty.
nb::object SaveAll(EngineHandle& handle, const std::string& path, const StatesMetadata& metadata) {
  Engine& engine = handle.Use();
  handle.AwaitRest();
  const auto note = [&] {
    const WithoutGil unlocked;
    return SaveStates(path, engine, metadata);
  }();
  RaiseUnless(note.status(), handle);
  return TextOf(*note);
}

// Returns by place what would be saved of its object.
nb::dict ObjectBytes(EngineHandle& handle) {
  Engine& engine = handle.Use();
  const auto snapshot = [&] {
    const WithoutGil unlocked;
    return engine.TakeSnapshot();
  }();
  RaiseUnless(snapshot.status(), handle);
  const std::string ending = fmt::format(".{}", kNativeObjectState);
  nb::dict all;
  for (const auto& [name, dtype, dims, bytes] : snapshot->tensors) {
    if (!name.ends_with(ending)) continue;
    const std::string place = name.substr(0, name.size() - ending.size());
    all[place.c_str()] = nb::bytes(bytes.data(), bytes.size());
  }
  return all;
}

std::vector<std::string> LoadAll(EngineHandle& handle, const std::string& path) {
  Engine& engine = handle.Use();
  const auto absent = [&] {
    const WithoutGil unlocked;
    return LoadStates(path, engine);
  }();
  RaiseUnless(absent.status(), handle);
  return *absent;
}

// Raises cgraph.Error where the file cannot be read, InputError where it is none of states.
StatesMetadata ReadMetadata(const std::string& path) {
  const auto metadata = [&] {
    const WithoutGil unlocked;
    return ReadStatesMetadata(path);
  }();
  if (metadata.ok()) return *metadata;
  const bool is_wrong = metadata.status().code() == StatusCode::kInvalid;
  Raise(is_wrong ? "InputError" : "Error", metadata.status().message());
}

}  // namespace

void BindStates(nb::module_& module) {
  module.def("places", &Places);
  module.def("read_state", &ReadOne);
  module.def("write_state", &WriteOne, nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
  module.def("save_states", &SaveAll);
  module.def("object_bytes", &ObjectBytes);
  module.attr("OBJECT") = fmt::format(".{}", kNativeObjectState);
  module.def("load_states", &LoadAll);
  module.def("read_metadata", &ReadMetadata);
}

}  // namespace cgraph::python
