#include "tests/mutants/originals.h"

#include <fmt/format.h>

#include <cstdlib>

#include "runtime/plan/load.h"
#include "tests/support/sample_plans.h"
#ifdef CGRAPH_WITH_COMPILER
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
    return tests::CompileFile(file);
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

}  // namespace

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
