// What a test of the engine asks of the emulated driver, which the engine has opened.
#ifndef CGRAPH_TESTS_EMULATION_ENGINE_DRIVER_CONTROL_H_
#define CGRAPH_TESTS_EMULATION_ENGINE_DRIVER_CONTROL_H_

#include <dlfcn.h>

#include <catch2/catch.hpp>

#include "tests/emulation/control.h"

namespace cgraph::emulation {

inline const Control& DriverControl() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  REQUIRE(library != nullptr);
  const auto control = reinterpret_cast<decltype(&cgraph_emulation_control)>(
      dlsym(library, "cgraph_emulation_control"));
  REQUIRE(control != nullptr);
  return *control();
}

}  // namespace cgraph::emulation

#endif  // CGRAPH_TESTS_EMULATION_ENGINE_DRIVER_CONTROL_H_
