// CUDA graphs at load.
#include <catch2/catch.hpp>

#include "runtime/base/sync/cores.h"
#include "tests/emulation/engine/driver_control.h"
#include "tests/support/run.h"

namespace cgraph::emulation {

TEST_CASE("captures are instantiated by several threads, and run all the same") {
  const std::string path = CGRAPH_SOURCE_DIR "/tests/emulation/engine/failures.cgraph";
  for (int turn = 0; turn < 10; ++turn) {
    testing::Runner runner(path, {}, {.require_gpus = true});
    CHECK(runner.Run("keep_there", {2}) == std::vector<int64_t>{12});
    CHECK(runner.Run("append", {1}) == std::vector<int64_t>{15, 15, 15});
  }
  CHECK(DriverControl().most_instantiating() >= std::min(2u, Cores()));
}

}  // namespace cgraph::emulation
