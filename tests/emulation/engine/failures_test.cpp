// What fails on a GPU, in many orders of its work: the error is the one that the CPU gives, of the
// call that failed first, and nobody keeps what comes of it.
#include <catch2/catch.hpp>

#include "tests/emulation/engine/driver_control.h"
#include "tests/support/run.h"

namespace cgraph::emulation {
namespace {

constexpr uint64_t kSeeds = 45;

}  // namespace

TEST_CASE("an extent beyond its bound is the error of the call that made it, and changes nothing") {
  const std::string path = CGRAPH_SOURCE_DIR "/tests/emulation/engine/failures.cgraph";
  for (const uint32_t workers : {1, 2}) {
    testing::Runner on_cpu(path, {}, {.gpus = false});
    testing::Runner on_gpu(path, {}, {.workers = workers, .require_gpus = true});
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      INFO("seed " << seed << ", " << workers << " workers");
      DriverControl().reseed(seed);
      for (const char* graph : {"give", "append", "keep", "keep_appended", "keep_sum",
                                "keep_sum_shm", "keep_sum_there", "keep_there"}) {
        INFO(graph);
        // What a first execution has left in memory is what a wrong one would find there.
        CHECK(on_gpu.Run(graph, {4}) == on_cpu.Run(graph, {4}));
        const std::string error = on_cpu.Fail(graph, {9});
        CHECK(error.find("maker.") == 0);
        CHECK(on_gpu.Fail(graph, {9}) == error);
        CHECK(on_gpu.Run("look", {}) == on_cpu.Run("look", {}));
      }
    }
  }
}

}  // namespace cgraph::emulation
