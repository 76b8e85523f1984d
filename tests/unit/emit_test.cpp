// Emit: every plan that is made must be accepted by the check and by the prover.
#include <catch2/catch.hpp>

#include "compiler/emit/emit.h"
#include "runtime/plan/load.h"
#include "runtime/plan/prove.h"
#include "tests/support/module_builder.h"
#include "tests/support/random_modules.h"

namespace cgraph {
namespace {

using namespace graph::testing;
using graph::DeviceKind;
using graph::ValueId;

std::unique_ptr<plan::Plan> MakePlan(const graph::Module& module,
                                     const ScheduleOptions& options = {}) {
  return Emit(module, ScheduleModule(module, options), {});
}

// What the property test below has seen, so that it cannot pass on nothing.
struct Seen {
  uint32_t graphs = 0, instructions = 0, transfers = 0, copies = 0, waits = 0, reusing = 0;

  void Add(const plan::Graph& graph) {
    ++graphs;
    instructions += graph.instructions.size();
    transfers += graph.parts.size() / 2;
    waits += graph.waits.size();
    for (const plan::Instruction& instruction : graph.instructions) {
      copies += instruction.kind() == plan::Kind::copy;
    }
    reusing += ReusesMemory(graph);
  }
  static bool ReusesMemory(const plan::Graph& graph) {
    uint64_t needed = 0, planned = 0;
    for (const plan::Buffer& buffer : graph.buffers) {
      const bool slot = graph.arenas[buffer.arena()].space() == plan::Space::slot;
      needed += slot ? buffer.bytes() : 0;
    }
    for (const plan::Arena& arena : graph.arenas) {
      planned += arena.space() == plan::Space::slot ? arena.bytes() : 0;
    }
    return planned < needed;
  }
};

TEST_CASE("plans of random modules prove, with overlap and without") {
  constexpr uint32_t kModules = 1500;
  Seen seen;
  for (uint32_t seed = 0; seed < kModules; ++seed) {
    const graph::Module module = RandomModule(seed);
    for (const std::optional<bool> overlap : {std::optional<bool>(), {true}, {false}}) {
      const std::unique_ptr<plan::Plan> plan = MakePlan(module, {.overlap = overlap});
      INFO("seed " << seed << ", overlap " << (overlap ? *overlap ? "on" : "off" : "as stated"));
      const plan::Verdict verdict = plan::Prove(*plan);
      INFO(verdict.message);
      REQUIRE(verdict.proved());
      for (const auto& graph : plan->graphs) seen.Add(*graph);
    }
  }
  CHECK(seen.graphs > kModules);
  CHECK(seen.transfers > 5'000);
  CHECK(seen.copies > 5'000);
  CHECK(seen.waits > 20'000);
  CHECK(seen.reusing > 1'000);
}

TEST_CASE("every wait is needed") {
  uint32_t waits = 0, unneeded = 0;
  for (uint32_t seed = 0; seed < 150; ++seed) {
    const std::unique_ptr<plan::Plan> plan = MakePlan(RandomModule(seed));
    for (const auto& graph : plan->graphs) {
      for (size_t i = 0; i < graph->waits.size(); ++i) {
        // A lag that no execution reaches waits for nothing.
        const plan::Wait wait = graph->waits[i];
        graph->waits[i] = plan::Wait(wait.event(), 1000);
        ++waits;
        unneeded += plan::Prove(*plan).proved();
        graph->waits[i] = wait;
      }
    }
  }
  CHECK(waits > 1'000);
  CHECK(unneeded == 0);
  WARN(unneeded << " of " << waits);
}

}  // namespace
}  // namespace cgraph
