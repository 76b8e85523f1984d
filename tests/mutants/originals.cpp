#include "tests/mutants/originals.h"

#include <fmt/format.h>

#include <cstdlib>
#include <random>

#include "runtime/plan/graph_index.h"
#include "runtime/plan/load.h"
#include "tests/engine_oracle/random_module.h"
#include "tests/mutants/random_plan.h"
#include "tests/support/plans/sample_plans.h"
#ifdef CGRAPH_WITH_COMPILER
#include "compiler/emit/emit.h"
#include "tests/support/modules/module_builder.h"
#include "tests/support/modules/random_modules.h"
#include "tests/support/run.h"
#endif

namespace cgraph::mutants {
namespace {

[[noreturn]] void Fail(const std::string& file, const std::string& message) {
  fmt::print("{}: {}\n", file, message);
  std::exit(1);
}

std::unique_ptr<plan::Plan> ReadOrCompile(const std::string& file) {
  if (file.ends_with(".cgplan")) {
    Result<std::unique_ptr<plan::Plan>> plan = plan::ReadFile(file);
    if (!plan.ok()) Fail(file, plan.status().message());
    return std::move(*plan);
  }
#ifdef CGRAPH_WITH_COMPILER
  try {
    return testing::CompileFile(file);
  } catch (const std::exception& error) {
    Fail(file, error.what());
  }
#else
  Fail(file, "is no .cgplan, and this build has no compiler");
#endif
}

void AddGraphs(const std::string& name, const plan::Plan& plan, std::vector<Original>& originals) {
  const auto add = [&](uint32_t graph, const plan::Graph& table) {
    if (!table.instructions.empty()) {
      originals.push_back(
          {name + ":" + table.name, std::make_unique<plan::Plan>(plan), graph});
    }
  };
  add(plan::kNone, *plan.start);
  for (uint32_t graph = 0; graph < plan.graphs.size(); ++graph) {
    add(graph, *plan.graphs[graph]);
  }
}

#ifdef CGRAPH_WITH_COMPILER
constexpr size_t kSmall = 100;  // instructions

// One graph, its start graph at times, of a plan of a random module.
Original CompiledOriginal(Random& random) {
  for (;;) {
    const auto seed = static_cast<uint32_t>(random.Next());
    const graph::Module module = graph::testing::RandomModule(seed);
    ScheduleOptions options;
    if (random.OneIn(2)) options.overlap = random.OneIn(2);
    options.lanes = static_cast<CommLanes>(random.Below(3));
    std::unique_ptr<plan::Plan> plan =
        Emit(module, graph::testing::SchedulesOf(module, options), {});
    const uint32_t graph = random.OneIn(4) ? plan::kNone : random.Below(plan->graphs.size());
    const size_t size = plan::GraphAt(*plan, graph).instructions.size();
    if (size == 0 || size > kSmall) continue;
    return {fmt::format("random module {}", seed), std::move(plan), graph};
  }
}
#endif

// One graph of several over shared state.
Original OneOfSeveral(Random& random) {
  const auto seed = static_cast<uint32_t>(random.Next());
  std::mt19937 of_module(seed);
  oracle::Module module;
  while (module.graphs.size() < 2) module = oracle::RandomModule(of_module);
  return {fmt::format("random graphs {}", seed), oracle::MakePlan(module),
          random.Below(module.graphs.size())};
}

}  // namespace

Original RandomOriginal(Random& random) {
  if (random.OneIn(8)) return OneOfSeveral(random);
#ifdef CGRAPH_WITH_COMPILER
  if (random.OneIn(2)) return CompiledOriginal(random);
#endif
  return {"random plan", RandomPlan(random), 0};
}

std::vector<Original> FindOriginals(const std::vector<std::string>& files) {
  std::vector<Original> originals;
  for (const plan::testing::SamplePlan& sample : plan::testing::SamplePlans()) {
    AddGraphs(sample.name, *sample.plan, originals);
  }
  for (const std::string& file : files) {
    AddGraphs(file, *ReadOrCompile(file), originals);
  }
  return originals;
}

}  // namespace cgraph::mutants
