#include "runtime/python/binding/states.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "runtime/engine/states/saved_states.h"
#include "runtime/plan/kinds.h"
#include "runtime/python/binding/tensors/array.h"
#include "runtime/python/binding/tensors/borrow.h"
#include "runtime/python/binding/engine_handle.h"
#include "runtime/python/binding/errors.h"
#include "runtime/python/binding/without_gil.h"

namespace nb = nanobind;

namespace cgraph::python {
namespace {

void RaiseUnless(const Status& status) {
  if (!status.ok()) RaiseStatus(status, During::kSubmit);
}

std::vector<std::string> NamesOfStates(EngineHandle& handle) {
  std::vector<std::string> names;
  for (const Engine::State& state : handle.Use().States()) names.push_back(state.name);
  return names;
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
  auto copied = std::make_shared<CopiedTensor>();
  copied->bytes.resize(state.bytes);
  copied->tensor.data = copied->bytes.data();
  copied->tensor.dtype = state.dtype;
  copied->tensor.rank = static_cast<uint8_t>(state.dims.size());
  std::copy(state.dims.begin(), state.dims.end(), copied->tensor.dims);
  RaiseUnless([&] {
    const WithoutGil unlocked;
    return engine.ReadState(name, copied->bytes);
  }());
  return Array(std::move(copied));
}

// The state as what a tensor is taken for: `w` of the place `stage[0]`.
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
  RaiseUnless([&] {
    const WithoutGil unlocked;
    return engine.WriteState(whole, {static_cast<const uint8_t*>(input.data), state.bytes});
  }());
}

// Returns what is to be said of the file, which may be nothing.
std::string SaveAll(EngineHandle& handle, const std::string& path) {
  Engine& engine = handle.Use();
  const auto note = [&] {
    const WithoutGil unlocked;
    return SaveStates(path, engine);
  }();
  RaiseUnless(note.status());
  return *note;
}

std::vector<std::string> LoadAll(EngineHandle& handle, const std::string& path) {
  Engine& engine = handle.Use();
  const auto absent = [&] {
    const WithoutGil unlocked;
    return LoadStates(path, engine);
  }();
  RaiseUnless(absent.status());
  return *absent;
}

}  // namespace

void BindStates(nb::module_& module) {
  module.def("state_names", &NamesOfStates);
  module.def("read_state", &ReadOne);
  module.def("write_state", &WriteOne);
  module.def("save_states", &SaveAll);
  module.def("load_states", &LoadAll);
}

}  // namespace cgraph::python
