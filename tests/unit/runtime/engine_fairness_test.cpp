// Who waits in Execute is not overtaken for ever: by executions of the same graph, nor by those of
// graphs over the same state, however many threads keep them coming. Nor is who reads states.
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/engine/engine.h"
#include "tests/support/plans/flow_plan.h"

namespace cgraph {
namespace {

using plan::DType;
using plan::testing::FlowPlan;

// Where others stop: many more than who waits may be overtaken by. Each takes a millisecond.
constexpr uint64_t kMost = 2000;
constexpr uint64_t kTimes = 2;

// Both graphs count in one state: `late` does so a round after its execution has begun, so that one
// waits for the other.
std::unique_ptr<plan::Plan> TwoGraphs() {
  FlowPlan flow(1);
  for (const uint16_t lag : {0, 1}) {
    flow.Begin(lag == 0 ? "soon" : "late", 3, lag);
    const uint32_t one = flow.Input("one", DType::f32, {1});
    const uint32_t ms = flow.Input("ms");
    const uint32_t sum = flow.Tensor("sum", 0, DType::f32, {1});
    flow.Method(0, "pause", 1);
    flow.Call(0, flow.Kernel("sleep"), {ms}, {});
    flow.Lag(lag);
    flow.Method(0, "count", 2);
    flow.Call(0, flow.Kernel("add"), {flow.State(0), one}, {sum});
    flow.Call(0, flow.Kernel("copy"), {sum}, {flow.State(0)}, plan::kCommitsState);
    flow.Give("n", sum);
  }
  return flow.Build();
}

Result<Execution> TryStart(Engine& engine, uint32_t graph, WhenFull when_full) {
  const float one = 1;
  const int64_t dims[] = {1};
  const int64_t ms = 1;
  const Input inputs[] = {{"one", &one, DType::f32, dims}, {"ms", &ms, DType::i64, {}}};
  return engine.Execute(graph, inputs, when_full);
}

Execution Start(Engine& engine, uint32_t graph) {
  return std::move(*TryStart(engine, graph, WhenFull::kWait));
}

// How many executions of `theirs` three threads have had, each with always one in progress, when
// another one has had `mine`.
uint64_t Overtaking(uint32_t mine, uint32_t theirs) {
  EngineOptions options;
  options.workers = 1;
  auto engine = Engine::Load(TwoGraphs(), options);
  REQUIRE(engine.ok());
  std::atomic<uint64_t> others{0};
  std::atomic<bool> enough{false}, wrong{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      Execution last = Start(**engine, theirs);
      while (!enough && others.fetch_add(1) < kMost) {
        Execution next = Start(**engine, theirs);
        if (!last.Get().ok()) wrong = true;
        last = std::move(next);
      }
    });
  }
  while (others < 20) std::this_thread::yield();
  const uint64_t before = others;
  for (uint64_t i = 0; i < kTimes; ++i) {
    if (!Start(**engine, mine).Get().ok()) wrong = true;
  }
  const uint64_t overtaken = others - before;
  enough = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(!wrong);
  return overtaken;
}

TEST_CASE("an execution that waits for graphs over the same state is not overtaken for ever") {
  CHECK(Overtaking(1, 0) < kMost / 2);
  CHECK(Overtaking(0, 1) < kMost / 2);
}

TEST_CASE("an execution that waits for room is not overtaken for ever") {
  CHECK(Overtaking(0, 0) < kMost / 2);
}

// Each execution counts, so a state that is read has as many as were submitted before, to the last.
TEST_CASE("who reads states is not kept waiting, and reads what was submitted before") {
  EngineOptions options;
  options.workers = 1;
  auto engine = Engine::Load(TwoGraphs(), options);
  REQUIRE(engine.ok());
  const std::string name = (*engine)->States()[0].name;
  const auto read = [&] {
    float value = -1;
    CHECK((*engine)->ReadState(name, {reinterpret_cast<uint8_t*>(&value), sizeof value}).ok());
    return static_cast<uint64_t>(value);
  };
  std::atomic<uint64_t> submitted{0}, completed{0};
  std::atomic<bool> enough{false}, wrong{false};
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      const WhenFull when_full = t == 2 ? WhenFull::kError : WhenFull::kWait;
      while (!enough && submitted < kMost) {
        Result<Execution> execution = TryStart(**engine, t % 2, when_full);
        if (!execution.ok()) {
          if (execution.status().code() != StatusCode::kCapacity) wrong = true;
          std::this_thread::yield();
          continue;
        }
        ++submitted;
        if (!execution->Get().ok()) wrong = true;
        ++completed;
      }
    });
  }
  while (completed < 10) std::this_thread::yield();
  for (int i = 0; i < 10; ++i) {
    const uint64_t before = completed;
    const uint64_t seen = read();
    CHECK(seen >= before);
    CHECK(seen <= submitted + 3);  // those whose threads have not counted them yet
  }
  CHECK(submitted < kMost);
  enough = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(!wrong);
  CHECK(read() == submitted);
}

}  // namespace
}  // namespace cgraph
