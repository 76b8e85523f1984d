// Who waits in Execute is not overtaken for ever: by executions of the same graph, nor by those of
// graphs over the same state, however many threads keep them coming.
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
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

Execution Start(Engine& engine, uint32_t graph) {
  const float one = 1;
  const int64_t dims[] = {1};
  const int64_t ms = 1;
  const Input inputs[] = {{"one", &one, DType::f32, dims}, {"ms", &ms, DType::i64, {}}};
  return std::move(*engine.Execute(graph, inputs));
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

}  // namespace
}  // namespace cgraph
