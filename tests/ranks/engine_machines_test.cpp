// Engines over processes that share no memory: several graphs over the same actors, engines one
// after another, what is held of one that has ended. Runs under mpirun (machines_main.cpp), with
// stages.cgraph spread over nodes.
#include <catch2/catch.hpp>

#include <random>

#include "tests/support/run.h"

namespace cgraph::testing {
namespace {

const std::string kStages = CGRAPH_SOURCE_DIR "/tests/ranks/stages.cgraph";

// Returns what an execution gave: its numbers, or its error, but for the place: of several stages
// that fail any may be the one that is said.
std::string Told(Engine& engine, const std::string& graph, int64_t x) {
  const Input input{"x", &x, plan::DType::i64, {}};
  Result<Execution> execution = engine.Execute(graph, {&input, 1});
  REQUIRE(execution.ok());
  Result<Outputs> outputs = execution->Get();
  if (!outputs.ok()) {
    const std::string message = outputs.status().message();
    return message.substr(message.rfind("failed: "));
  }
  std::string text;
  for (int64_t number : Numbers(*outputs)) text += std::to_string(number) + " ";
  return text;
}

std::unique_ptr<Engine> Load(const EngineOptions& options) {
  auto loaded = Engine::Load(CompileFile(kStages), options);
  if (!loaded.ok()) FAIL(loaded.status().message());
  return std::move(*loaded);
}

TEST_CASE("graphs run by turns over the same actors, as in one process") {
  const EngineOptions machines = OnProcesses({});
  REQUIRE(machines.peers != nullptr);
  std::mt19937 random(1);
  const char* const graphs[] = {"add", "count", "fail_in_some", "count", "count_together"};
  for (int engines = 0; engines < 3; ++engines) {
    // On CPU threads: collectives by NCCL of two engines would hold each other's GPUs up.
    EngineOptions threads;
    threads.gpus = false;
    auto here = Load(threads);
    auto there = Load(machines);
    for (int i = 0; i < 100; ++i) {
      const std::string graph = graphs[random() % 5];
      const auto x = static_cast<int64_t>(random() % 100);
      CAPTURE(engines, i, graph, x);
      REQUIRE(Told(*there, graph, x) == Told(*here, graph, x));
    }
  }
}

TEST_CASE("the other processes serve one engine at a time, whatever is held of those before") {
  const EngineOptions machines = OnProcesses({});
  const int64_t x = 5;
  const Input input{"x", &x, plan::DType::i64, {}};
  std::vector<Execution> executions;
  std::vector<Outputs> results;
  for (int engines = 0; engines < 3; ++engines) {
    auto engine = Load(machines);
    auto refused = Engine::Load(CompileFile(kStages), machines);
    REQUIRE(!refused.ok());
    CHECK(refused.status().message().find("serve another engine") != std::string::npos);
    // What the engine before gave goes while this one is there.
    executions.clear();
    results.clear();
    for (int i = 0; i < 3; ++i) {
      Result<Execution> execution = engine->Execute("add", {&input, 1});
      REQUIRE(execution.ok());
      Result<Outputs> outputs = execution->Get();
      REQUIRE(outputs.ok());
      CHECK(Numbers(*outputs) == std::vector<int64_t>{8});
      executions.push_back(std::move(*execution));
      results.push_back(std::move(*outputs));
    }
  }
}

TEST_CASE("an engine ends while executions are in progress") {
  const EngineOptions machines = OnProcesses({});
  const int64_t x = 5;
  const Input input{"x", &x, plan::DType::i64, {}};
  for (int engines = 0; engines < 3; ++engines) {
    auto engine = Load(machines);
    std::vector<Execution> executions;
    for (int i = 0; i < 3; ++i) {
      Result<Execution> execution = engine->Execute("slow", {&input, 1});
      REQUIRE(execution.ok());
      executions.push_back(std::move(*execution));
    }
    engine.reset();
    for (Execution& execution : executions) CHECK(!execution.Get().ok());
  }
}

}  // namespace
}  // namespace cgraph::testing
