// The engine over many executions: nothing is allocated, plans with lags and extents, several
// callers at once, graphs that share state, random graphs against a direct evaluation.
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <new>
#include <random>
#include <thread>

#include "runtime/engine/engine.h"
#include "tests/support/plans/flow_plan.h"
#include "tests/support/plans/loaded.h"
#include "tests/support/plans/sample_plans.h"

static std::atomic<uint64_t> news{0};
[[gnu::noinline]] void* operator new(size_t size) {
  news.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(size_t size, const std::nothrow_t&) noexcept {
  news.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace cgraph {
namespace {

using plan::DType;
using plan::testing::FlowPlan;
using testing::Load;
using testing::Workers;

// y = x + 8 on alternating devices.
std::unique_ptr<plan::Plan> ChainPlan(uint32_t devices, uint32_t inflight) {
  FlowPlan flow(devices);
  flow.Begin("chain", inflight);
  uint32_t at = flow.Input("x");
  for (uint32_t i = 0; i < 8; ++i) {
    const uint32_t device = i % devices;
    if (i != 0 && devices > 1) at = flow.Transfer(at, (i - 1) % devices, device);
    const uint32_t sum = flow.Scalar("h", device);
    flow.Call(device, flow.Kernel("add"), {at, flow.Constant(device, 1)}, {sum});
    at = sum;
  }
  flow.Give("y", at);
  return flow.Build();
}

std::vector<float> Floats(const device::Tensor& tensor) {
  return {tensor.as<float>(), tensor.as<float>() + tensor.elements()};
}

// A sample plan whose kernels negate: x -> -(-x).
std::unique_ptr<plan::Plan> Sample(const std::string& name) {
  for (auto& sample : plan::testing::SamplePlans()) {
    if (sample.name != name) continue;
    for (auto& kernel : sample.plan->kernels) kernel->body[0]->op = "negate";
    return std::move(sample.plan);
  }
  throw std::runtime_error("no plan " + name);
}

}  // namespace

// [immediate]: the queues of the deferred device allocate.
TEST_CASE("a steady loop allocates nothing", "[immediate]") {
  for (uint32_t workers : {1, 2}) {
    auto engine = Load(ChainPlan(2, 2), Workers(workers));
    const auto loop = [&](int count) {
      for (int64_t x = 0; x < count; ++x) {
        const Input input = {"x", &x, plan::DType::i64, {}};
        auto first = engine->Execute(0u, {&input, 1});
        auto second = engine->Execute(0u, {&input, 1});
        auto y = second->Get();
        if (*(*y)[0].as<int64_t>() != x + 8) std::abort();
        if (*(*first->Get())[0].as<int64_t>() != x + 8) std::abort();
      }
    };
    loop(100);
    const uint64_t ours = engine->GetStats().allocations;
    const uint64_t before = news;
    loop(10000);
    const uint64_t after = news;
    REQUIRE(after - before == 0);
    REQUIRE(engine->GetStats().allocations == ours);
    REQUIRE(engine->GetStats().executions == 20200);
  }
}

TEST_CASE("plans with lags run: empty rounds bring the last executions to their end") {
  for (const char* name : {"lag_0", "lag_1", "lag_2"}) {
    for (uint32_t workers : {1, 2, 3}) {
      for (bool proved : {true, false}) {
        EngineOptions options = Workers(workers);
        options.proved = proved;
        auto engine = Load(Sample(name), options);
        CAPTURE(name, workers, proved);
        const int64_t dims[] = {4};
        std::vector<Execution> runs;
        std::vector<float> data(4);
        for (int i = 0; i < 20; ++i) {
          for (int k = 0; k < 4; ++k) data[k] = static_cast<float>(10 * i + k);
          const Input input = {"x", data.data(), plan::DType::f32, dims};
          auto run = engine->Execute(0u, {&input, 1});
          REQUIRE(run.ok());
          if (i % 5 == 4) {
            auto y = run->Get();
            REQUIRE(y.ok());
            REQUIRE(Floats((*y)[0]) == data);
          } else {
            runs.push_back(std::move(*run));
          }
        }
        for (size_t i = runs.size(); i-- > 0;) {
          auto y = runs[i].Get();
          REQUIRE(y.ok());
          REQUIRE((*y)[0].as<float>()[1] == static_cast<float>(10 * (i + i / 4) + 1));
        }
        REQUIRE(engine->GetStats().executions == 20);
      }
    }
  }
}

TEST_CASE("extents travel: only the rows of this execution") {
  for (uint32_t workers : {1, 2, 3}) {
    auto engine = Load(Sample("extent"), Workers(workers));
    const std::vector<float> data(9 * 4, 3);
    for (int64_t n : {8, 3, 0, 1, 8}) {
      const int64_t dims[] = {n, 4};
      const Input input = {"x", data.data(), plan::DType::f32, dims};
      auto run = engine->Execute(0u, {&input, 1});
      REQUIRE(run.ok());
      auto y = run->Get();
      REQUIRE(y.ok());
      REQUIRE((*y)[0].dims[0] == n);
      REQUIRE(Floats((*y)[0]) == std::vector<float>(4 * n, 3));
    }
    const int64_t dims[] = {9, 4};
    const Input input = {"x", data.data(), plan::DType::f32, dims};
    const Status refused = engine->Execute(0u, {&input, 1}).status();
    REQUIRE(refused.message() == "`main` takes `x` as f32[n <= 8, 4], and was given f32[9, 4]");
  }
}

TEST_CASE("several callers at once") {
  for (uint32_t workers : {1, 2}) {
    auto engine = Load(ChainPlan(2, 3), Workers(workers));
    std::atomic<int> wrong{0};
    std::vector<std::thread> callers;
    for (int c = 0; c < 4; ++c) {
      callers.emplace_back([&, c] {
        for (int64_t i = 0; i < 300; ++i) {
          const int64_t x = 1000 * c + i;
          const Input input = {"x", &x, plan::DType::i64, {}};
          auto run = engine->Execute(0u, {&input, 1});
          if (i % 7 == 0) continue;  // dropped
          auto y = i % 3 == 0 ? run->Get(std::chrono::seconds(60)) : run->Get();
          if (!y.ok() || *(*y)[0].as<int64_t>() != x + 8) ++wrong;
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
    REQUIRE(wrong == 0);
  }
}

TEST_CASE("S15: two graphs over the same actors see each other's state") {
  FlowPlan flow(2);
  for (uint32_t g = 0; g < 2; ++g) {  // each adds to the state of one device and reads both
    flow.Begin("g" + std::to_string(g), 2);
    const uint32_t x = flow.Input("x", plan::DType::f32, {1});
    for (uint32_t d = 0; d < 2; ++d) {
      const uint32_t seen = flow.Tensor("seen", d, plan::DType::f32, {1});
      flow.Method(d, "read", 1);
      if (d == g) {
        flow.Call(d, flow.Kernel("add"), {flow.State(d), x}, {seen});
        flow.Call(d, flow.Kernel("copy"), {seen}, {flow.State(d)}, plan::kCommitsState);
      } else {
        flow.Call(d, flow.Kernel("copy"), {flow.State(d)}, {seen});
      }
      flow.Give("s" + std::to_string(d), seen);
    }
  }
  auto plan = flow.Build();
  for (uint32_t workers : {1, 2}) {
    auto engine = Load(std::make_unique<plan::Plan>(*plan), Workers(workers));
    float expected[2] = {0, 0};
    std::vector<Execution> runs;
    std::vector<std::pair<float, float>> states;
    for (int i = 0; i < 100; ++i) {
      const uint32_t g = i / 3 % 2;
      const float x = static_cast<float>(i);
      const int64_t dims[] = {1};
      const Input input = {"x", &x, plan::DType::f32, dims};
      auto run = engine->Execute(g, {&input, 1});
      REQUIRE(run.ok());
      runs.push_back(std::move(*run));
      expected[g] += x;
      states.emplace_back(expected[0], expected[1]);
    }
    for (int i = 0; i < 100; ++i) {
      auto y = runs[i].Get();
      REQUIRE(y.ok());
      REQUIRE(*(*y)[0].as<float>() == states[i].first);
      REQUIRE(*(*y)[1].as<float>() == states[i].second);
    }
  }
}

TEST_CASE("random graphs, one worker and several, against a direct evaluation") {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    const uint32_t devices = 1 + random() % 3;
    const uint32_t inflight = 1 + random() % 3;
    FlowPlan flow(devices);
    flow.Begin("random", inflight);
    struct Known {
      uint32_t value;
      uint32_t device;       // or any, for the input
      int64_t factor, term;  // of x
    };
    std::vector<Known> known = {{flow.Input("x"), plan::kNone, 1, 0}};
    const int count = 3 + random() % 12;
    for (int i = 0; i < count; ++i) {
      const uint32_t device = random() % devices;
      Known operand[2];
      for (Known& o : operand) {
        o = known[random() % known.size()];
        if (o.device == plan::kNone || o.device == device) continue;
        o.value = flow.Transfer(o.value, o.device, device, random() % 3);
        o.device = device;
        known.push_back(o);
      }
      const bool add = random() % 2;
      Known sum{flow.Scalar("v", device), device,
                operand[0].factor + (add ? 1 : -1) * operand[1].factor,
                operand[0].term + (add ? 1 : -1) * operand[1].term};
      flow.Call(device, flow.Kernel(add ? "add" : "subtract"),
                {operand[0].value, operand[1].value}, {sum.value});
      const Known more{flow.Scalar("w", device), device, sum.factor, sum.term + i};
      flow.Call(device, flow.Kernel("add"), {sum.value, flow.Constant(device, i)}, {more.value});
      known.push_back(more);
    }
    flow.Give("y", known.back().value);
    flow.Give("z", known[known.size() / 2].value);
    auto plan = flow.Build();
    for (uint32_t workers : {1, 2, 4}) {
      for (bool proved : {true, false}) {
        CAPTURE(round, workers, proved);
        EngineOptions options = Workers(workers);
        options.proved = proved;
        auto engine = Load(std::make_unique<plan::Plan>(*plan), options);
        std::vector<Execution> runs;
        for (int64_t x = 0; x < 12; ++x) {
          const Input input = {"x", &x, plan::DType::i64, {}};
          runs.push_back(std::move(*engine->Execute(0u, {&input, 1})));
        }
        for (int64_t x = 11; x >= 0; --x) {
          auto outputs = runs[x].Get();
          REQUIRE(outputs.ok());
          for (int o = 0; o < 2; ++o) {
            const Known& k = o == 0 ? known.back() : known[known.size() / 2];
            REQUIRE(*(*outputs)[o].as<int64_t>() == k.factor * x + k.term);
          }
        }
      }
    }
  }
}

}  // namespace cgraph
