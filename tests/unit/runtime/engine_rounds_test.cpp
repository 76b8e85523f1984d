// Graphs with lags, whose executions end rounds after they have begun: several over one state, the
// first rounds, and executions that end although nobody asks for them. And time: deadlines,
// teardown where nobody expects it, traces while there are executions.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/execute/entry_inbox.h"
#include "tests/support/plans/flow_plan.h"
#include "tests/support/plans/loaded.h"

namespace cgraph {
namespace {

using plan::DType;
using plan::testing::FlowPlan;
using testing::Load;
using testing::Workers;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Device 0 sleeps for `ms`; device 1 has it next; then, two rounds later, device 0 counts.
void AddCounting(FlowPlan& flow, const char* name, uint32_t inflight) {
  const uint16_t lag = inflight > 2 ? 2 : 0;
  flow.Begin(name, inflight, lag);
  const uint32_t ms = flow.Input("ms");
  const uint32_t one = flow.Input("one", plan::DType::f32, {1});
  const uint32_t slept = flow.Scalar("slept", 0);
  flow.Method(0, "first", 1);
  flow.Call(0, flow.Kernel("sleep"), {ms}, {});
  flow.Call(0, flow.Kernel("copy"), {ms}, {slept});
  flow.Lag(lag / 2);
  const uint32_t there = flow.Transfer(slept, 0, 1);
  const uint32_t passed = flow.Scalar("passed", 1);
  flow.Method(1, "mid", 2);
  flow.Call(1, flow.Kernel("copy"), {there}, {passed});
  flow.Lag(lag);
  const uint32_t back = flow.Transfer(passed, 1, 0);
  const uint32_t end = flow.Scalar("end", 0);
  const uint32_t sum = flow.Tensor("sum", 0, plan::DType::f32, {1});
  flow.Method(0, "second", 3);
  flow.Call(0, flow.Kernel("copy"), {back}, {end});
  flow.Call(0, flow.Kernel("add"), {flow.State(0), one}, {sum});
  flow.Call(0, flow.Kernel("copy"), {sum}, {flow.State(0)}, plan::kCommitsState);
  flow.Give("n", sum);
  flow.Give("ms", end);
}

std::unique_ptr<plan::Plan> CountingPlan(uint64_t timeout_ms = 0) {
  FlowPlan flow(2);
  AddCounting(flow, "late", 4);
  AddCounting(flow, "soon", 2);
  auto plan = flow.Build();
  plan->graphs[0]->deadline_ps = timeout_ms * 1000000000;
  return plan;
}

Execution Start(Engine& engine, const char* graph, int64_t ms = 0) {
  const float one = 1;
  const int64_t dims[] = {1};
  const Input inputs[] = {{"ms", &ms, plan::DType::i64, {}}, {"one", &one, plan::DType::f32, dims}};
  auto execution = engine.Execute(graph, inputs);
  INFO((execution.ok() ? "" : execution.status().message()));
  REQUIRE(execution.ok());
  return std::move(*execution);
}

float Count(const Result<Outputs>& outputs) {
  INFO((outputs.ok() ? "" : outputs.status().message()));
  REQUIRE(outputs.ok());
  return *outputs->Find("n")->as<float>();
}

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

TEST_CASE("graphs over one state run in the order of submission, also where one has lags") {
  for (uint32_t workers : {1, 2, 3}) {
    auto engine = Load(CountingPlan(), Workers(workers));
    std::vector<Execution> runs;
    for (int i = 0; i < 60; ++i) {
      runs.push_back(Start(*engine, i % 3 == 1 ? "soon" : i % 7 == 0 ? "soon" : "late"));
    }
    for (size_t i = 0; i < runs.size(); ++i) CHECK(Count(runs[i].Get()) == i + 1);
  }
}

TEST_CASE("the first executions after empty rounds are as many as were submitted") {
  for (int repeat = 0; repeat < 20; ++repeat) {
    auto engine = Load(CountingPlan(), Workers(2));
    std::vector<Execution> runs;
    // Each time empty rounds are submitted while the first round is still in progress: the last two
    // get the frames in which that round finishes the executions that began before all others.
    for (int i = 0; i < 4; ++i) {
      runs.push_back(Start(*engine, "late", i == 0 ? 15 : 0));
      if (i < 2) static_cast<void>(runs.back().Get(milliseconds(0)).ok());
    }
    for (size_t i = 0; i < runs.size(); ++i) CHECK(Count(runs[i].Get()) == i + 1);
  }
}

TEST_CASE("an execution with lags that nobody follows comes to its end: polled, dropped, left") {
  for (uint32_t workers : {1, 2}) {
    auto engine = Load(CountingPlan(/*timeout_ms=*/500), Workers(workers));
    Execution polled = Start(*engine, "late");
    const auto start = Clock::now();
    while (!polled.Ready() && SecondsSince(start) < 10) std::this_thread::yield();
    REQUIRE(polled.Ready());
    CHECK(Count(polled.Get()) == 1);
    { Execution dropped = Start(*engine, "late"); }
    while (engine->GetStats().executions < 2 && SecondsSince(start) < 20) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    CHECK(engine->GetStats().executions == 2);
    // The time in which an execution lacks only the rounds that end it does not count as its own.
    Execution left = Start(*engine, "late");
    std::this_thread::sleep_for(milliseconds(1200));
    CHECK(Count(left.Get()) == 3);
  }
}

TEST_CASE("a graph's time-out counts what an execution takes, and no more") {
  auto engine = Load(CountingPlan(/*timeout_ms=*/300), Workers(2));
  CHECK(Count(Start(*engine, "late", 20).Get()) == 1);
  std::this_thread::sleep_for(milliseconds(700));
  CHECK(Count(Start(*engine, "late", 20).Get()) == 2);
  const auto start = Clock::now();
  Execution slow = Start(*engine, "late", 1500);
  const Result<Outputs> outputs = slow.Get(milliseconds(5000));
  CHECK(SecondsSince(start) < 1.4);
  REQUIRE(outputs.status().code() == StatusCode::kTimeout);
  CHECK(outputs.status().message().find("longer than its timeout, 0.3 s") != std::string::npos);
}

TEST_CASE("Get with a time-out does not drive, also where there is no room for the last rounds") {
  auto engine = Load(CountingPlan(), Workers(1));
  std::vector<Execution> runs;
  for (int i = 0; i < 4; ++i) runs.push_back(Start(*engine, "late", i == 0 ? 1500 : 0));
  const auto start = Clock::now();
  CHECK(runs[3].Get(milliseconds(20)).status().code() == StatusCode::kTimeout);
  CHECK(SecondsSince(start) < 1.4);
  CHECK(Count(runs[3].Get(milliseconds(10000))) == 4);
}

TEST_CASE("time-outs at the ends of their range") {
  using std::chrono::nanoseconds;
  auto engine = Load(CountingPlan(), Workers(2));
  CHECK(Count(Start(*engine, "soon", 30).Get(nanoseconds::max())) == 1);
  CHECK(Count(Start(*engine, "soon", 30).Get(std::chrono::hours(24 * 365 * 200))) == 2);
  for (nanoseconds timeout : {nanoseconds::min(), nanoseconds(-1), nanoseconds(0)}) {
    CHECK(Start(*engine, "soon", 30).Get(timeout).status().code() == StatusCode::kTimeout);
  }
}

TEST_CASE("an engine goes while Get with a time-out reports who waits") {
  for (int repeat = 0; repeat < 20; ++repeat) {
    auto engine = Load(CountingPlan(), Workers(2));
    Execution run = Start(*engine, "late", 5);
    std::atomic<bool> up{false};
    std::thread asks([&] {
      for (;;) {
        const Result<Outputs> outputs = run.Get(milliseconds(0));
        up = true;
        if (outputs.ok() || outputs.status().code() != StatusCode::kTimeout) return;
      }
    });
    while (!up) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(250 * repeat));
    engine.reset();
    asks.join();
  }
}

TEST_CASE("who is told of a time-out may tear the engine down") {
  Engine* told = nullptr;
  std::atomic<bool> torn_down{false};
  EngineOptions options = Workers(2);
  options.timeout = milliseconds(100);
  options.timed_out = [&](const Status&) {
    told->Teardown();
    torn_down = true;
  };
  auto engine = Load(CountingPlan(), options);
  told = engine.get();
  CHECK(Start(*engine, "soon", 600).Get().status().code() == StatusCode::kTimeout);
  engine->Teardown();
  engine.reset();
  CHECK(torn_down);
}

// y = x[0] + x[0], read when the caller drives; `fail` fails at once, while the other device sleeps
// for `ms` before it reads x.
std::unique_ptr<plan::Plan> LendingPlan(uint16_t lag) {
  FlowPlan flow(2);
  flow.Begin("lending", 3, lag);
  const uint32_t x = flow.Input("x", plan::DType::f32, {2048});
  const uint32_t fail = flow.Input("fail");
  const uint32_t ms = flow.Input("ms");
  const uint32_t well = flow.Scalar("well", 0, plan::DType::bool_);
  flow.Method(0, "check", 1);
  flow.Call(0, flow.Kernel("not_equal"), {fail, flow.Constant(0, 1)}, {well});
  flow.Call(0, flow.Check("no"), {well}, {});
  const uint32_t y = flow.Tensor("y", 1, plan::DType::f32, {2048});
  flow.Lag(lag);
  flow.Method(1, "read", 2);
  flow.Call(1, flow.Kernel("sleep"), {ms}, {});
  flow.Call(1, flow.Kernel("add"), {x, x}, {y});
  flow.Give("y", y);
  return flow.Build();
}

Result<Execution> Lend(Engine& engine, const float* data, bool lent, int64_t fail = 0,
                       int64_t ms = 0) {
  const int64_t dims[] = {2048};
  const Input inputs[] = {{"x", data, plan::DType::f32, dims, lent},
                          {"fail", &fail, plan::DType::i64, {}},
                          {"ms", &ms, plan::DType::i64, {}}};
  return engine.Execute("lending", inputs);
}

TEST_CASE("inputs that are lent are read where they lie, others when they are given") {
  for (uint16_t lag : {0, 2}) {
    auto engine = Load(LendingPlan(lag), Workers(1));
    std::vector<float> data(2049, 1);
    for (int i = 0; i < 30; ++i) {
      const bool lent = i % 3 != 0, aligned = i % 5 != 0;
      const char* at = reinterpret_cast<const char*>(data.data()) + (aligned ? 0 : 2);
      data.assign(2049, 1);
      auto run = Lend(*engine, reinterpret_cast<const float*>(at), lent);
      REQUIRE(run.ok());
      data.assign(2049, 3);  // nobody has driven worker 0 yet
      const Result<Outputs> outputs = run->Get();
      REQUIRE(outputs.ok());
      if (aligned) CHECK((*outputs)[0].as<float>()[7] == (lent ? 6 : 2));
    }
  }
}

TEST_CASE("Get of a failed execution waits until nobody reads what was lent") {
  for (uint16_t lag : {0, 2}) {
    for (uint32_t workers : {1, 3}) {
      auto engine = Load(LendingPlan(lag), Workers(workers));
      for (bool lent : {true, false}) {
        auto data = std::make_unique<std::vector<float>>(2048, 1);
        const auto start = Clock::now();
        auto run = Lend(*engine, data->data(), lent, /*fail=*/1, /*ms=*/150);
        REQUIRE(run.ok());
        CHECK(run->Get().status().code() == StatusCode::kFailed);
        if (lent) CHECK(SecondsSince(start) > 0.149);
        data.reset();  // the sanitizer sees who still reads it
      }
    }
  }
}

TEST_CASE("what was traced can be read at any time") {
  EngineOptions options = Workers(2);
  options.trace = true;
  auto engine = Load(CountingPlan(), options);
  std::atomic<bool> stop{false}, wrong{false};
  std::thread reads([&] {
    while (!stop) wrong = wrong || engine->Trace(0).graph != 0;
  });
  for (int i = 0; i < 300; ++i) CHECK(Count(Start(*engine, "late").Get()) == i + 1);
  stop = true;
  reads.join();
  CHECK(!wrong);
  CHECK(!engine->Trace(0).events.empty());
  CHECK(engine->Trace(1000).events.empty());
}

TEST_CASE("an inbox goes on after any number of entries") {
  for (const uint64_t first : {uint64_t{0}, (uint64_t{1} << 40) - 8, (uint64_t{1} << 41) - 8}) {
    INFO("from entry " << first);
    engine::EntryInbox::Shared::Words words;
    words.pushed = first;
    words.done = first;
    std::vector<std::atomic<uint64_t>> slots(4);
    EventCount worker, driver;
    engine::EntryInbox inbox({&words, slots}, /*graphs=*/2, &worker, &driver);
    for (uint64_t number = first; number < first + 16; ++number) {
      CHECK_FALSE(inbox.GraphOf(number).has_value());
      inbox.Push(number % 2);
      CHECK(inbox.GraphOf(number) == number % 2);
      CHECK_FALSE(inbox.GraphOf(number + 1).has_value());
      inbox.SetDone(number + 1);
    }
  }
}

}  // namespace cgraph
