// Engines that are torn down while queues of GPUs wait for each other.
#include <catch2/catch.hpp>

#include <chrono>
#include <string>
#include <thread>

#include "tests/support/run.h"

namespace cgraph::emulation {

using std::chrono::milliseconds;

// The queue of GPU 0, which is closed first, makes the signal of GPU 1 that it waits for. The queue
// of GPU 1 then seems to be through with the collective, for which GPU 2 never comes.
TEST_CASE("a collective that hangs is ended before any queue is closed") {
  std::string abandoned;
  EngineOptions options{.workers = 5, .require_gpus = true, .timeout = milliseconds(5000)};
  options.abandoned = [&](const Status& status) { abandoned = status.message(); };
  {
    testing::Runner runner(CGRAPH_SOURCE_DIR "/tests/emulation/engine/teardown.cgraph", {},
                           options);
    auto held = runner.Start("sum", {3});
    REQUIRE(held.ok());
    std::this_thread::sleep_for(milliseconds(200));  // both have issued by then
    CHECK(!held->Ready());
  }
  CHECK(abandoned.empty());
}

}  // namespace cgraph::emulation
