// Rewrites: what is rewritten, what is not, and that either gives the same bits.
#include <catch2/catch.hpp>

#include <map>

#include "runtime/plan/dtype.h"
#include "tests/support/run.h"

namespace cgraph::tests {
namespace {

const std::string kFile = CGRAPH_SOURCE_DIR "/tests/conformance/rewrites.cgraph";

std::vector<std::string> Collectives(const plan::Graph& graph) {
  std::vector<std::string> kinds;
  for (const auto& collective : graph.collectives) kinds.push_back(collective->kind);
  return kinds;
}

// All bytes of all outputs, in order.
std::string Run(std::unique_ptr<plan::Plan> plan) {
  Result<std::unique_ptr<Engine>> engine = Engine::Load(std::move(plan), {});
  REQUIRE(engine.ok());
  const float x[] = {0.1f, 2, 3.3f, -4, 5e-8f, 6, 7.7f, 8e8f};
  const int64_t dims[] = {8};
  const Input input{"x", x, plan::DType::f32, dims};
  Result<Execution> execution = (*engine)->Execute(0u, {&input, 1});
  REQUIRE(execution.ok());
  const Result<Outputs> outputs = execution->Get();
  REQUIRE(outputs.ok());
  std::string bytes;
  for (size_t i = 0; i < outputs->size(); ++i) {
    const device::Tensor& output = (*outputs)[i];
    bytes.append(static_cast<const char*>(output.data),
                 output.elements() * plan::DTypeBytes(output.dtype));
  }
  return bytes;
}

TEST_CASE("pairs of collectives that are one become one, and give the same bits") {
  const std::map<std::string, std::vector<std::string>> expected = {
      {"by_root", {"all_reduce"}},
      {"other_order", {"all_reduce"}},
      {"root_reads", {"all_reduce"}},
      {"several", {"all_reduce"}},
      {"by_parts", {"all_reduce"}},
      {"fewer_places", {"reduce", "broadcast"}},
      {"changed_between", {"reduce", "broadcast"}},
      {"part_is_read", {"reduce_scatter", "all_gather"}},
      {"other_ranks", {"reduce_scatter", "all_gather"}},
      {"other_way", {"reduce", "broadcast"}},
  };
  for (const auto& [graph, kinds] : expected) {
    INFO(graph);
    CompileOptions options;
    options.graphs = {graph};
    std::unique_ptr<plan::Plan> rewritten = CompileFile(kFile, options);
    CHECK(Collectives(*rewritten->graphs[0]) == kinds);
    options.no_rewrite = {"all"};
    std::unique_ptr<plan::Plan> plain = CompileFile(kFile, options);
    CHECK(Collectives(*plain->graphs[0]).size() == 2);
    CHECK(Run(std::move(rewritten)) == Run(std::move(plain)));
  }
}

TEST_CASE("one rewrite is turned off by its name") {
  CompileOptions options;
  options.graphs = {"by_root"};
  options.no_rewrite = {"scatter_gather"};
  CHECK(Collectives(*CompileFile(kFile, options)->graphs[0]).size() == 1);
  options.no_rewrite = {"reduce_broadcast"};
  CHECK(Collectives(*CompileFile(kFile, options)->graphs[0]).size() == 2);
}

}  // namespace
}  // namespace cgraph::tests
