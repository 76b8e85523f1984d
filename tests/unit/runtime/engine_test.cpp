// The engine on plans made by hand: the rows S4 and R1-R12 of the behaviours that users rely on.
#include "runtime/engine/engine.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "tests/support/plans/flow_plan.h"
#include "tests/support/plans/loaded.h"
#include "tests/support/plans/sample_plans.h"

namespace cgraph {
namespace {

using plan::DType;
using plan::testing::FlowPlan;
using testing::Load;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

Input I64(std::string_view name, const int64_t& value) {
  return {name, &value, plan::DType::i64, {}};
}

Result<Execution> Start(Engine& engine, std::string_view graph, int64_t x,
                        WhenFull when_full = WhenFull::kWait) {
  const Input input = I64("x", x);
  return engine.Execute(graph, {&input, 1}, when_full);
}

int64_t Number(const Outputs& outputs, const char* name = "y") {
  const device::Tensor* tensor = outputs.Find(name);
  REQUIRE(tensor != nullptr);
  return *tensor->as<int64_t>();
}

int64_t Run(Engine& engine, std::string_view graph, int64_t x) {
  auto execution = Start(engine, graph, x);
  INFO((execution.ok() ? "" : execution.status().message()));
  REQUIRE(execution.ok());
  auto outputs = execution->Get();
  INFO((outputs.ok() ? "" : outputs.status().message()));
  REQUIRE(outputs.ok());
  return Number(*outputs);
}

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The sample plans have kernels that only have names.
std::unique_ptr<plan::Plan> WithKernel(std::unique_ptr<plan::Plan> plan, const std::string& op) {
  for (auto& kernel : plan->kernels) kernel->body[0]->op = op;
  return plan;
}

// y = x + 8, by eight calls that go round over the devices.
std::unique_ptr<plan::Plan> ChainPlan(uint32_t devices, uint32_t inflight, uint32_t capacity = 0) {
  FlowPlan flow(devices);
  flow.Begin("chain", inflight);
  uint32_t at = flow.Input("x");
  uint32_t device = 0;
  for (uint32_t i = 0; i < 8; ++i) {
    const uint32_t next = i % devices;
    if (next != device) at = flow.Transfer(at, device, next, capacity);
    device = next;
    const uint32_t sum = flow.Scalar("h" + std::to_string(i), device);
    flow.Method(device, "inc", 10 + i);
    flow.Call(device, flow.Kernel("add"), {at, flow.Constant(device, 1)}, {sum});
    at = sum;
  }
  flow.Give("y", at);
  return flow.Build();
}

// Sleeps for x milliseconds, then gives x.
std::unique_ptr<plan::Plan> SleepPlan(uint32_t inflight = 1) {
  FlowPlan flow(1);
  flow.Begin("sleep", inflight);
  const uint32_t x = flow.Input("x");
  const uint32_t y = flow.Scalar("y", 0);
  flow.Method(0, "pause", 7);
  flow.Call(0, flow.Kernel("sleep"), {x}, {});
  flow.Call(0, flow.Kernel("copy"), {x}, {y});
  flow.Give("y", y);
  return flow.Build();
}

// a0.fail_if(x): fails when x is 13, before it would add 1 to its state; a1 sleeps x ms or reads
// what a0 returned. `read` gives the state.
std::unique_ptr<plan::Plan> FailPlan() {
  FlowPlan flow(2);
  flow.Begin("fail_if", 2);
  const uint32_t x = flow.Input("x");
  const uint32_t f = flow.Input("f", plan::DType::f32, {1});
  const uint32_t well = flow.Scalar("well", 0, plan::DType::bool_);
  const uint32_t sum = flow.Tensor("sum", 0, plan::DType::f32, {1});
  const uint32_t result = flow.Scalar("result", 0);
  flow.Method(0, "fail_if", 42);
  flow.Call(0, flow.Kernel("not_equal"), {x, flow.Constant(0, 13)}, {well});
  flow.Call(0, flow.Kernel("add"), {flow.State(0), f}, {sum});
  flow.Call(0, flow.Check("thirteen is not allowed"), {well}, {});
  flow.Call(0, flow.Kernel("copy"), {sum}, {flow.State(0)}, plan::kCommitsState);
  // The value that others read is made when the call cannot fail any more.
  flow.Call(0, flow.Kernel("copy"), {x}, {result});
  const uint32_t made = flow.Tensor("made", 0, plan::DType::f32, {1});
  flow.Call(0, flow.Kernel("copy"), {sum}, {made});
  const uint32_t moved = flow.Transfer(result, 0, 1);
  const uint32_t y = flow.Scalar("y", 1);
  flow.Method(1, "echo", 50);
  flow.Call(1, flow.Kernel("copy"), {moved}, {y});
  const uint32_t seen = flow.Tensor("seen", 1, plan::DType::f32, {1});
  const uint32_t count = flow.Tensor("count", 1, plan::DType::f32, {1});
  const uint32_t f_moved = flow.Transfer(made, 0, 1);
  flow.Method(1, "count", 51);
  flow.Call(1, flow.Kernel("copy"), {f_moved}, {seen});
  flow.Call(1, flow.Kernel("add"), {flow.State(1), seen}, {count});
  flow.Call(1, flow.Kernel("copy"), {count}, {flow.State(1)}, plan::kCommitsState);
  flow.Give("y", y);
  flow.Begin("read");
  for (uint32_t d = 0; d < 2; ++d) {
    const uint32_t state = flow.Tensor("state", d, plan::DType::f32, {1});
    flow.Method(d, "read", 60);
    flow.Call(d, flow.Kernel("copy"), {flow.State(d)}, {state});
    flow.Give("state" + std::to_string(d), state);
  }
  return flow.Build();
}

Result<Outputs> FailIf(Engine& engine, int64_t x) {
  const float one = 1;
  const int64_t dims[] = {1};
  const Input inputs[] = {I64("x", x), {"f", &one, plan::DType::f32, dims}};
  auto execution = engine.Execute("fail_if", inputs);
  REQUIRE(execution.ok());
  return execution->Get();
}

float State(Engine& engine, const char* name) {
  auto execution = engine.Execute("read", {});
  REQUIRE(execution.ok());
  auto outputs = execution->Get();
  REQUIRE(outputs.ok());
  return *outputs->Find(name)->as<float>();
}

}  // namespace

TEST_CASE("a chain gives the same on every number of workers, lanes apart or together") {
  for (uint32_t devices : {1, 2, 3}) {
    for (uint32_t workers : {1, 2, 3, 4}) {
      for (uint32_t inflight : {1, 3}) {
        for (uint32_t capacity : {0, 2}) {
          for (bool proved : {true, false}) {
            EngineOptions options;
            options.workers = workers;
            options.proved = proved;
            auto engine = Load(ChainPlan(devices, inflight, capacity), options);
            CAPTURE(devices, workers, inflight, capacity, proved);
            for (int64_t x = 0; x < 20; ++x) REQUIRE(Run(*engine, "chain", x) == x + 8);
          }
        }
      }
    }
  }
}

TEST_CASE("S4: results fetched out of order") {
  auto engine = Load(ChainPlan(2, 4));
  std::vector<Execution> runs;
  for (int64_t x = 0; x < 4; ++x) runs.push_back(std::move(*Start(*engine, "chain", x)));
  for (int64_t x : {2, 0, 3, 1}) REQUIRE(Number(*runs[x].Get()) == x + 8);
  REQUIRE(Number(*runs[2].Get()) == 10);  // and again
}

TEST_CASE("inputs are checked: names, types, extents") {
  auto engine = Load(ChainPlan(1, 1));
  const int64_t x = 1;
  const int64_t dims[] = {1};
  const Input wrong_name = I64("z", x);
  REQUIRE(engine->Execute("chain", {&wrong_name, 1}).status().message() ==
          "`chain` has no input `z`");
  REQUIRE(engine->Execute("chain", {}).status().message() ==
          "`chain` was not given its input `x`");
  const Input twice[] = {I64("x", x), I64("x", x)};
  REQUIRE(engine->Execute("chain", twice).status().message() ==
          "`chain` was given twice the input `x`");
  const Input wrong_type = {"x", &x, plan::DType::i64, dims};
  REQUIRE(engine->Execute("chain", {&wrong_type, 1}).status().code() == StatusCode::kInvalid);
  REQUIRE(Engine::Load(nullptr).status().message() == "there is no plan to load");
  const Input no_data = {"x", nullptr, plan::DType::i64, {}};
  REQUIRE(engine->Execute("chain", {&no_data, 1}).status().code() == StatusCode::kInvalid);
  REQUIRE(engine->Execute("chain", {&no_data, 1}).status().message() ==
          "`chain` takes `x` as i64[], and was given no data");
  REQUIRE(engine->Execute("other", {}).status().code() == StatusCode::kInvalid);
  REQUIRE(engine->Execute(7, {}).status().code() == StatusCode::kInvalid);
  REQUIRE(Run(*engine, "chain", 5) == 13);
}

TEST_CASE("R1: a failed method names itself, changes nothing, and others go on") {
  for (uint32_t workers : {1, 2, 3}) {
    EngineOptions options;
    options.workers = workers;
    auto engine = Load(FailPlan(), options);
    for (int repeat = 1; repeat <= 3; ++repeat) {
      auto failed = FailIf(*engine, 13);
      REQUIRE(!failed.ok());
      REQUIRE(failed.status().code() == StatusCode::kFailed);
      REQUIRE(failed.status().message() ==
              "a0.fail_if (test.cgraph:42:1) failed: thirteen is not allowed");
      REQUIRE(State(*engine, "state0") == repeat - 1);
      auto well = FailIf(*engine, 5);
      REQUIRE(well.ok());
      REQUIRE(Number(*well) == 5);
      REQUIRE(State(*engine, "state0") == repeat);
      REQUIRE(State(*engine, "state1") == repeat * (repeat + 1) / 2);  // not touched by poison
    }
    REQUIRE(engine->GetStats().errors == 3);
  }
}

// [immediate]: where deferred devices run the kernel that sleeps first, nobody can see the error.
TEST_CASE("R2: an error is visible at once, although another branch sleeps", "[immediate]") {
  FlowPlan flow(2);
  flow.Begin("branches");
  const uint32_t x = flow.Input("x");
  const uint32_t well = flow.Scalar("well", 0, plan::DType::bool_);
  flow.Method(0, "fail_if", 1);
  flow.Call(0, flow.Kernel("not_equal"), {x, flow.Constant(0, 1500)}, {well});
  flow.Call(0, flow.Check("no"), {well}, {});
  flow.Method(1, "pause", 2);
  const uint32_t y = flow.Scalar("y", 1);
  flow.Call(1, flow.Kernel("sleep"), {x}, {});
  flow.Call(1, flow.Kernel("copy"), {x}, {y});
  flow.Give("y", y);
  EngineOptions options;
  options.workers = 2;
  auto engine = Load(flow.Build(), options);
  const auto start = Clock::now();
  auto execution = Start(*engine, "branches", 1500);
  REQUIRE(!execution->Get().ok());
  REQUIRE(SecondsSince(start) < 1.4);
  REQUIRE(Run(*engine, "branches", 2) == 2);
}

TEST_CASE("R4, R5: time-outs leave the result to be fetched") {
  auto engine = Load(SleepPlan());
  const auto start = Clock::now();
  auto execution = Start(*engine, "sleep", 1500);
  auto now = execution->Get(milliseconds(0));
  REQUIRE(now.status().code() == StatusCode::kTimeout);
  auto early = execution->Get(milliseconds(200));
  REQUIRE(early.status().code() == StatusCode::kTimeout);
  REQUIRE(SecondsSince(start) >= 0.2);
  REQUIRE(SecondsSince(start) < 1.4);  // the machine may be busy with other things
  REQUIRE(early.status().message().find("a0.pause") != std::string::npos);
  REQUIRE(early.status().message().find("is running") != std::string::npos);
  REQUIRE(Number(*execution->Get()) == 1500);
  REQUIRE(execution->Ready());
  REQUIRE(Number(*execution->Get(milliseconds(0))) == 1500);
}

TEST_CASE("R6: in flight, and over capacity") {
  auto engine = Load(SleepPlan(2));
  std::vector<Execution> runs;
  for (int64_t x = 0; x < 2; ++x) {
    runs.push_back(std::move(*Start(*engine, "sleep", 50 + x, WhenFull::kError)));
  }
  auto third = Start(*engine, "sleep", 1, WhenFull::kError);
  REQUIRE(third.status().code() == StatusCode::kCapacity);
  REQUIRE(third.status().message() ==
          "2 executions of `sleep` are in flight, and it may have 2; get a result first, or wait");
  for (int64_t x = 2; x < 10; ++x) runs.push_back(std::move(*Start(*engine, "sleep", x)));
  for (int64_t x = 9; x >= 0; --x) REQUIRE(Number(*runs[x].Get()) == (x < 2 ? 50 + x : x));
}

TEST_CASE("R7, R12: results never fetched, dropped, and held for ever") {
  auto engine = Load(ChainPlan(2, 2));
  std::vector<Outputs> held;
  std::vector<Execution> never;
  for (int64_t x = 0; x < 200; ++x) {
    auto execution = Start(*engine, "chain", x);
    REQUIRE(execution.ok());
    if (x % 3 == 0) held.push_back(*execution->Get());
    if (x % 3 == 1) never.push_back(std::move(*execution));
  }
  engine->Teardown();
  engine.reset();
  for (size_t i = 0; i < held.size(); ++i) REQUIRE(Number(held[i]) == int64_t(3 * i) + 8);
  REQUIRE(held[0].name(0) == "y");
  for (Execution& execution : never) {
    REQUIRE(execution.Get().status().code() == StatusCode::kClosed);
  }
}

TEST_CASE("a dropped execution still runs, and Ready comes true by itself") {
  auto engine = Load(FailPlan());
  const float one = 1;
  const int64_t x = 1;
  const int64_t dims[] = {1};
  const Input inputs[] = {I64("x", x), {"f", &one, plan::DType::f32, dims}};
  { auto dropped = engine->Execute("fail_if", inputs); }
  const auto start = Clock::now();
  while (engine->GetStats().executions < 1 && SecondsSince(start) < 5) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  REQUIRE(engine->GetStats().executions == 1);
  auto polled = engine->Execute("fail_if", inputs);
  while (!polled->Ready() && SecondsSince(start) < 5) std::this_thread::yield();
  REQUIRE(polled->Ready());
}

// [immediate]: the thread that polls deferred queues may have begun another kernel by then.
TEST_CASE("R9: teardown while a kernel sleeps, twice, and use after it", "[immediate]") {
  for (uint32_t workers : {1, 2}) {
    EngineOptions options;
    options.workers = workers;
    auto engine = Load(SleepPlan(2), options);
    auto first = Start(*engine, "sleep", 1000);
    auto second = Start(*engine, "sleep", 1000);
    REQUIRE(first->Get(milliseconds(50)).status().code() == StatusCode::kTimeout);
    const auto start = Clock::now();
    engine->Teardown();
    engine->Teardown();
    REQUIRE(SecondsSince(start) < 1.8);  // the kernel that runs is waited for, the other is not
    REQUIRE(first->Get().status().code() == StatusCode::kClosed);
    REQUIRE(second->Get(milliseconds(1)).status().message() == "the engine was torn down");
    REQUIRE(Start(*engine, "sleep", 1).status().code() == StatusCode::kClosed);
  }
}

TEST_CASE("R11: engines that end with executions in flight, fetched by nobody") {
  for (int i = 0; i < 50; ++i) {
    auto engine = Load(ChainPlan(2, 3));
    std::vector<Execution> runs;
    for (int64_t x = 0; x < i % 4; ++x) runs.push_back(std::move(*Start(*engine, "chain", x)));
    if (i % 2 != 0) continue;  // what is held goes first
    engine.reset();
    // An execution has come to its end by then, or says that there is no engine any more.
    for (Execution& run : runs) {
      const Result<Outputs> outputs = run.Get();
      CHECK((outputs.ok() || outputs.status().code() == StatusCode::kClosed));
    }
  }
}

TEST_CASE("a wrong order is refused, and hangs and is reported when it is not proved") {
  REQUIRE(Engine::Load(WithKernel(plan::testing::TwoWayPlan(true), "relu")).status().code() ==
          StatusCode::kInvalid);
  EngineOptions options;
  options.proved = false;
  options.timeout = milliseconds(200);
  auto engine = Load(WithKernel(plan::testing::TwoWayPlan(true), "relu"), options);
  std::vector<Input> inputs;
  const std::vector<float> data(1024, 1);
  std::vector<std::vector<int64_t>> dims;
  const plan::Graph& graph = *engine->plan().graphs[0];
  for (const auto& port : graph.inputs) {
    const plan::Value& value = graph.values[port->value];
    std::vector<int64_t>& d = dims.emplace_back();
    for (int i = 0; i < value.rank(); ++i) {
      d.push_back(graph.dims[value.first_dim() + i].extent());
    }
    inputs.push_back({port->name, data.data(), value.dtype(), d});
  }
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i].dims = dims[i];
  auto execution = engine->Execute(0, inputs);
  REQUIRE(execution.ok());
  const auto start = Clock::now();
  auto outputs = execution->Get();
  REQUIRE(outputs.status().code() == StatusCode::kTimeout);
  REQUIRE(SecondsSince(start) < 2);
  INFO(outputs.status().message());
  REQUIRE(outputs.status().message().find("waits for gpu[1]") != std::string::npos);
  REQUIRE(outputs.status().message().find("waits for gpu[0]") != std::string::npos);
  REQUIRE(engine->WaitReportDot().find("->") != std::string::npos);
  REQUIRE(engine->Execute(0, inputs).status().code() == StatusCode::kTimeout);
}

TEST_CASE("more in flight than compiled for is refused") {
  EngineOptions options;
  options.inflight = 3;
  auto engine = Engine::Load(ChainPlan(1, 2), options);
  REQUIRE(engine.status().code() == StatusCode::kInvalid);
  options.inflight = 1;
  REQUIRE(Run(*Load(ChainPlan(2, 2), options), "chain", 1) == 9);
}

TEST_CASE("methods and lanes are measured when profiling") {
  EngineOptions options;
  options.profile = true;
  auto engine = Load(SleepPlan(), options);
  for (int i = 0; i < 3; ++i) Run(*engine, "sleep", 5);
  const auto profile = engine->Profile();
  REQUIRE(profile.size() == 1);
  REQUIRE(profile[0].first == "Test.pause");
  REQUIRE(profile[0].second > 4e6);
  REQUIRE(profile[0].second < 5e7);
}

}  // namespace cgraph
