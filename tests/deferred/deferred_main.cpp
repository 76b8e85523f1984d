// Runs a Catch test with every engine on deferred devices: once for each of --seeds N, from --seed
// S on. A failure names the seed of the engine that was loaded last.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include <cstdio>
#include <string>
#include <vector>

#include "tests/support/deferred/deferred.h"

namespace {

struct SaySeed : Catch::TestEventListenerBase {
  using TestEventListenerBase::TestEventListenerBase;
  bool assertionEnded(const Catch::AssertionStats& stats) override {
    if (!stats.assertionResult.isOk()) {
      std::printf("on deferred devices, seed %llu\n",
                  static_cast<unsigned long long>(cgraph::testing::LastSeed()));
    }
    return true;
  }
};
CATCH_REGISTER_LISTENER(SaySeed)

}  // namespace

int main(int argc, char** argv) {
  uint64_t seed = 1, seeds = 1;
  Catch::Session session;
  using namespace Catch::clara;
  session.cli(session.cli() | Opt(seed, "number")["--seed"]("the first engine's seed") |
              Opt(seeds, "number")["--seeds"]("how often"));
  if (const int wrong = session.applyCommandLine(argc, argv)) return wrong;
  uint64_t engines = 0;
  for (uint64_t i = 0; i < seeds; ++i) {
    cgraph::testing::DeferAllEngines(seed + i * 1000003);
    if (const int failed = session.run()) return failed;
    engines += cgraph::testing::MachinesMade();
  }
  std::printf("%llu engines on deferred devices, each with a seed of its own\n",
              static_cast<unsigned long long>(engines));
  return 0;
}
