#include "tests/deferred/omissions/programs.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>

#include "runtime/base/wait_point.h"
#include "runtime/plan/prove.h"
#include "tests/deferred/trial.h"
#include "tests/support/deferred/deferred.h"

namespace cgraph::testing {

using plan::DType;
using plan::testing::FlowPlan;
using std::chrono::milliseconds;

EnginePtr Load(std::unique_ptr<plan::Plan> plan, EngineOptions options) {
  if (options.timeout > std::chrono::seconds(2)) options.timeout = milliseconds(2000);
  auto engine = Engine::Load(std::move(plan), options);
  if (!engine.ok()) throw std::runtime_error(engine.status().message());
  return std::move(*engine);
}

EngineOptions Workers(uint32_t workers) {
  EngineOptions options;
  options.workers = workers;
  return options;
}

Execution Start(Engine& engine, uint32_t graph, std::vector<int64_t> numbers) {
  std::vector<Input> inputs;
  const auto& ports = engine.plan().graphs[graph]->inputs;
  for (size_t i = 0; i < ports.size(); ++i) {
    inputs.push_back({ports[i]->name, &numbers[i], DType::i64, {}});
  }
  auto execution = engine.Execute(graph, inputs);
  if (!execution.ok()) throw std::runtime_error(execution.status().message());
  return std::move(*execution);
}

bool Gives(Execution& execution, int64_t number) {
  const Result<Outputs> outputs = execution.Get();
  return outputs.ok() && *(*outputs)[0].as<int64_t>() == number;
}

// y = x + 10 over two devices.
std::unique_ptr<plan::Plan> TwoDevices(uint32_t inflight, uint32_t capacity) {
  FlowPlan flow(2);
  flow.Begin("two", inflight);
  const uint32_t x = Add(flow, 0, flow.Input("x"), flow.Constant(0, 3));
  flow.Give("y", Add(flow, 1, flow.Transfer(x, 0, 1, capacity), flow.Constant(1, 7)));
  return flow.Build();
}

// Many executions, of which as many as may are in flight.
bool Many(std::unique_ptr<plan::Plan> plan, EngineOptions options) {
  const EnginePtr engine = Load(std::move(plan), options);
  std::vector<Execution> executions;
  for (int64_t x = 0; x < 12; ++x) executions.push_back(Start(*engine, 0, {x}));
  bool right = true;
  for (int64_t x = 0; x < 12; ++x) right &= Gives(executions[static_cast<size_t>(x)], x + 10);
  return right;
}

// Three messages of an execution in a channel with room for one.
std::unique_ptr<plan::Plan> Messages() {
  FlowPlan flow(2);
  flow.Begin("messages", 2);
  const uint32_t x = flow.Input("x");
  uint32_t sum = flow.Constant(1, 4);
  for (int64_t i = 1; i <= 3; ++i) {
    const uint32_t sent = Add(flow, 0, flow.Constant(0, i), i == 1 ? x : flow.Constant(0, 0));
    sum = Add(flow, 1, sum, flow.Transfer(sent, 0, 1, 1));
  }
  flow.Give("y", sum);
  return flow.Build();
}

constexpr int64_t kMany = 16384;  // a collective does not copy them
const plan::testing::Dims kSome = {kMany};

namespace {

// x + x of device 0 is written over when it has been sent, or given to a collective. y: what came
// of it on device 1.
std::unique_ptr<plan::Plan> WrittenOver(bool collective) {
  FlowPlan flow(2);
  const uint32_t comm[] = {flow.compute(0) + 1, flow.compute(1) + 1};
  const uint32_t group = flow.plan().Communicator({comm[0], comm[1]});
  flow.Begin("over");
  auto& g = flow.graph();
  const uint32_t x = flow.Input("x", DType::f32, kSome);
  uint32_t own[2], all[2];
  for (uint32_t d : {0u, 1u}) {
    own[d] = flow.Tensor("own", d, DType::f32, kSome);
    flow.Call(d, flow.Kernel("add"), {x, x}, {own[d]});
    const uint32_t made = g.Event();
    g.Signal(flow.compute(d), made);
    g.Wait(comm[d], made);
  }
  if (collective) {
    const uint32_t sum = g.Collective("all_reduce", group, "sum");
    for (uint32_t d : {0u, 1u}) {
      all[d] = flow.Tensor("all", d, DType::f32, kSome);
      const auto part = g.Part(comm[d], sum, {own[d]}, {all[d]});
      if (d == 1) g.At(part).mutate_program_order(g.At(part - 1).program_order());
    }
  } else {
    all[1] = flow.Transfer(own[0], 0, 1);
  }
  const uint32_t over = g.Event();
  g.Signal(comm[0], over);
  g.Wait(flow.compute(0), over);
  const uint64_t at = g.graph().buffers[g.graph().values[own[0]].buffer()].offset();
  const uint32_t again = g.ValueAt("again", 1, at, DType::f32, kSome);
  flow.Call(0, flow.Kernel("multiply"), {x, x}, {again});
  const uint32_t moved = g.Event();
  g.Signal(comm[1], moved);
  g.Wait(flow.compute(1), moved);
  const uint32_t y = flow.Tensor("y", 1, DType::f32, kSome);
  flow.Call(1, flow.Kernel("add"), {all[1], own[1]}, {y});
  flow.Give("y", y);
  flow.Give("again", again);
  return flow.Build();
}

}  // namespace

// One that is sent is 2 x; of two that are added it is 4 x.
bool ReadsWhatWasGiven(bool collective) {
  auto plan = WrittenOver(collective);
  if (!plan::Prove(*plan).proved()) throw std::runtime_error(plan::Prove(*plan).message);
  const EnginePtr engine = Load(std::move(plan));
  bool right = true;
  for (int i = 0; i < 8; ++i) {
    const std::vector<float> x(kMany, static_cast<float>(3 + i));
    const int64_t dims[] = {kMany};
    const Input inputs[] = {{"x", x.data(), DType::f32, dims}};
    auto execution = engine->Execute(0u, inputs);
    const Result<Outputs> outputs = execution->Get();
    for (int e = 0; outputs.ok() && e < kMany; ++e) {
      right &= (*outputs)[0].as<float>()[e] == x[0] * (collective ? 6 : 4);
      right &= (*outputs)[1].as<float>()[e] == x[0] * x[0];
    }
    right &= outputs.ok();
  }
  return right;
}

// Device 0 sends its state and then adds x to it. The send waits for the round before: not where
// the submission of one execution at a time says so, for which there are frames for two.
bool OneInFlight() {
  FlowPlan flow(2);
  flow.Begin("state", 2);
  auto& g = flow.graph();
  const uint32_t comm = flow.compute(0) + 1;
  const uint32_t x = flow.Input("x", DType::f32, {1});
  const uint32_t committed = g.Event(), sent = g.Event();
  g.Wait(comm, committed, 1);
  const uint32_t there = flow.Transfer(flow.State(0), 0, 1);
  g.Signal(comm, sent);
  const uint32_t sum = flow.Tensor("sum", 0, DType::f32, {1});
  flow.Call(0, flow.Kernel("add"), {flow.State(0), x}, {sum});
  g.Wait(flow.compute(0), sent);
  flow.Call(0, flow.Kernel("copy"), {sum}, {flow.State(0)}, plan::kCommitsState);
  g.Signal(flow.compute(0), committed);
  const uint32_t y = flow.Tensor("y", 1, DType::f32, {1});
  flow.Call(1, flow.Kernel("copy"), {there}, {y});
  flow.Give("y", y);
  EngineOptions options;
  options.inflight = 1;
  const EnginePtr engine = Load(flow.Build(), options);
  std::vector<Execution> executions;
  const float one = 1;
  const int64_t dims[] = {1};
  const Input inputs[] = {{"x", &one, DType::f32, dims}};
  for (int i = 0; i < 12; ++i) executions.push_back(std::move(*engine->Execute(0u, inputs)));
  bool right = true;
  for (size_t i = 0; i < 12; ++i) {
    const Result<Outputs> outputs = executions[i].Get();
    right &= outputs.ok() && *(*outputs)[0].as<float>() == static_cast<float>(i);
  }
  return right;
}

// A state is counted up two rounds after an execution has begun; of the other graph, at once. The
// first call sleeps for `ms`.
std::unique_ptr<plan::Plan> Counting() {
  FlowPlan flow(2);
  for (const uint16_t lag : {2, 0}) {
    flow.Begin(lag == 0 ? "soon" : "late", lag == 0 ? 2 : 4, lag);
    const uint32_t ms = flow.Input("ms");
    const uint32_t slept = flow.Scalar("slept", 0);
    const uint32_t sum = flow.Tensor("sum", 1, DType::f32, {1});
    const uint32_t one = flow.graph().Constant("one", 2, DType::f32, {1}, {0, 0, 0x80, 0x3f});
    flow.Method(0, "first", 1);
    flow.Call(0, flow.Kernel("sleep"), {ms}, {});
    flow.Call(0, flow.Kernel("copy"), {ms}, {slept});
    flow.Lag(lag);
    const uint32_t there = flow.Transfer(slept, 0, 1);
    const uint32_t passed = flow.Scalar("passed", 1);
    flow.Method(1, "second", 2);
    flow.Call(1, flow.Kernel("copy"), {there}, {passed});
    flow.Call(1, flow.Kernel("add"), {flow.State(1), one}, {sum});
    flow.Call(1, flow.Kernel("copy"), {sum}, {flow.State(1)}, plan::kCommitsState);
    flow.Give("n", sum);
    flow.Give("ms", passed);
  }
  return flow.Build();
}

namespace {

bool Counts(Execution& execution, float number) {
  const Result<Outputs> outputs = execution.Get();
  return outputs.ok() && *(*outputs)[0].as<float>() == number;
}

}  // namespace

bool InTurns() {
  const EnginePtr engine = Load(Counting(), Workers(2));
  std::vector<Execution> runs;
  for (uint32_t i = 0; i < 9; ++i) runs.push_back(Start(*engine, i % 2, {i == 0 ? 3 : 0}));
  bool right = true;
  for (size_t i = 0; i < 9; ++i) right &= Counts(runs[i], static_cast<float>(i + 1));
  return right;
}

// Empty rounds are submitted while the first round is under way.
bool EmptyRounds() {
  const EnginePtr engine = Load(Counting(), Workers(2));
  std::vector<Execution> runs;
  for (int i = 0; i < 4; ++i) {
    runs.push_back(Start(*engine, 0, {i == 0 ? 15 : 0}));
    if (i != 1) static_cast<void>(runs.back().Get(milliseconds(0)).ok());
  }
  bool right = true;
  for (size_t i = 0; i < 4; ++i) right &= Counts(runs[i], static_cast<float>(i + 1));
  return right;
}

// Each of two devices adds x to its state behind everything that a result needs.
bool Asides() {
  FlowPlan flow(2);
  flow.Begin("add", 2);
  const uint32_t x = flow.Input("x", DType::f32, {1});
  for (uint32_t d : {0u, 1u}) {
    const uint32_t y = flow.Tensor("y", d, DType::f32, {1});
    const uint32_t sum = flow.Tensor("sum", d, DType::f32, {1});
    flow.Call(d, flow.Kernel("add"), {x, x}, {y});
    flow.Call(d, flow.Kernel("add"), {x, flow.State(d)}, {sum});
    flow.Call(d, flow.Kernel("copy"), {sum}, {flow.State(d)}, plan::kCommitsState);
    flow.Give("y" + std::to_string(d), y);
  }
  flow.Begin("read", 1);
  for (uint32_t d : {0u, 1u}) {
    const uint32_t seen = flow.Tensor("seen", d, DType::f32, {1});
    flow.Call(d, flow.Kernel("copy"), {flow.State(d)}, {seen});
    flow.Give("seen" + std::to_string(d), seen);
  }
  const EnginePtr engine = Load(flow.Build(), Workers(3));
  const int64_t dims[] = {1};
  const auto given = [](size_t i) { return static_cast<float>(i * i + 1); };
  std::vector<Execution> executions;
  float sum = 0;
  for (size_t i = 0; i < 12; ++i) {
    const float x_i = given(i);
    sum += x_i;
    const Input inputs[] = {{"x", &x_i, DType::f32, dims}};
    executions.push_back(std::move(*engine->Execute(0u, inputs)));
  }
  bool right = true;
  for (size_t i = 0; i < 12; ++i) {
    const Result<Outputs> outputs = executions[i].Get();
    for (size_t d = 0; outputs.ok() && d < 2; ++d) {
      right &= *(*outputs)[d].as<float>() == 2 * given(i);
    }
    right &= outputs.ok();
  }
  const Result<Outputs> seen = engine->Execute(1u, {})->Get();
  for (size_t d = 0; seen.ok() && d < 2; ++d) right &= *(*seen)[d].as<float>() == sum;
  return right && seen.ok();
}

// Threads submit, each numbers of its own, and there is room for one execution.
bool FromThreads() {
  const EnginePtr engine = Load(TwoDevices(1));
  std::atomic<bool> right{true};
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t i = 0; i < 30; ++i) {
        Execution execution = Start(*engine, 0, {1000 * t + i});
        if (!Gives(execution, 1000 * t + i + 10)) right = false;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return right;
}

// What fails is dropped at once, and its memory may serve the next ones only when it is over.
bool DroppedFailures() {
  const EnginePtr engine = Load(std::move(Failing().plan));
  bool right = true;
  for (int64_t x = 0; x < 24; ++x) {
    { const Execution dropped = Start(*engine, 0, {11}); }
    Execution execution = Start(*engine, 0, {x + 20});
    right &= Gives(execution, x + 22);
  }
  return right;
}

bool HoldsResults() {
  const EnginePtr engine = Load(TwoDevices(2));
  std::vector<Outputs> held;
  for (int64_t x = 0; x < 12; ++x) {
    Execution execution = Start(*engine, 0, {x});
    Result<Outputs> outputs = execution.Get();
    if (!outputs.ok()) return false;
    held.push_back(std::move(*outputs));
  }
  bool right = true;
  for (int64_t x = 0; x < 12; ++x) {
    right &= *held[static_cast<size_t>(x)][0].as<int64_t>() == x + 10;
  }
  return right;
}

bool OutlivesEngine() {
  EnginePtr engine = Load(TwoDevices(2));
  Execution execution = Start(*engine, 0, {5});
  Result<Outputs> outputs = execution.Get();
  if (!outputs.ok()) return false;
  engine.reset();
  return *(*outputs)[0].as<int64_t>() == 15 && outputs->name(0) == "y";
}

// The start graph sets a state on one lane, and another one sends it.
bool BeginsWithState() {
  FlowPlan flow(2);
  auto& start = flow.plan().Start();
  const uint32_t one = start.Constant("one", 1, DType::f32, {1}, {0, 0, 0x80, 0x3f});
  start.Call(flow.compute(0), flow.Kernel("copy"), {one}, {start.State(0, 0)});
  flow.Begin("send", 1);
  const uint32_t there = flow.Transfer(flow.State(0), 0, 1);
  const uint32_t y = flow.Tensor("y", 1, DType::f32, {1});
  flow.Call(1, flow.Kernel("copy"), {there}, {y});
  flow.Give("y", y);
  const EnginePtr engine = Load(flow.Build());
  const Result<Outputs> outputs = engine->Execute(0u, {})->Get();
  return outputs.ok() && *(*outputs)[0].as<float>() == 1;
}

}  // namespace cgraph::testing
