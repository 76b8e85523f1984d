// What a test of the engine asks of the emulated driver, and of other emulated libraries, which the
// engine has opened.
#ifndef CGRAPH_TESTS_EMULATION_ENGINE_DRIVER_CONTROL_H_
#define CGRAPH_TESTS_EMULATION_ENGINE_DRIVER_CONTROL_H_

#include <dlfcn.h>

#include <catch2/catch.hpp>

#include "tests/emulation/control.h"

namespace cgraph::emulation {

// Returns what the function `name` of an emulated library gives; `Function` is its type.
template <typename Function>
const auto& ControlOf(const char* file, const char* name) {
  void* library = dlopen(file, RTLD_NOW | RTLD_NOLOAD);
  REQUIRE(library != nullptr);
  const auto control = reinterpret_cast<Function>(dlsym(library, name));
  REQUIRE(control != nullptr);
  return *control();
}

inline const Control& DriverControl() {
  return ControlOf<decltype(&cgraph_emulation_control)>("libcuda.so.1",
                                                        "cgraph_emulation_control");
}

}  // namespace cgraph::emulation

#endif  // CGRAPH_TESTS_EMULATION_ENGINE_DRIVER_CONTROL_H_
