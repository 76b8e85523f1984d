// Engines with plans that must load.
#ifndef CGRAPH_TESTS_SUPPORT_PLANS_LOADED_H_
#define CGRAPH_TESTS_SUPPORT_PLANS_LOADED_H_

#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <utility>

#include "runtime/engine/engine.h"

namespace cgraph::testing {

inline std::unique_ptr<Engine> Load(std::unique_ptr<plan::Plan> plan, EngineOptions options = {}) {
  auto engine = Engine::Load(std::move(plan), options);
  INFO((engine.ok() ? "" : engine.status().message()));
  REQUIRE(engine.ok());
  return std::move(*engine);
}

inline EngineOptions Workers(uint32_t workers) {
  EngineOptions options;
  options.workers = workers;
  return options;
}

}  // namespace cgraph::testing

#endif  // CGRAPH_TESTS_SUPPORT_PLANS_LOADED_H_
