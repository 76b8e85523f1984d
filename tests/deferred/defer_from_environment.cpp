// Linked into a command: it runs its plan on deferred devices, by the seed in CGRAPH_DEFERRED_SEED.
#include <cstdlib>

#include "tests/support/deferred/deferred.h"

namespace {

const bool deferred = [] {
  const char* seed = std::getenv("CGRAPH_DEFERRED_SEED");
  cgraph::testing::DeferAllEngines(seed == nullptr ? 1 : std::strtoull(seed, nullptr, 10));
  return true;
}();

}  // namespace
