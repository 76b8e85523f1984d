// The engine against an oracle that runs executions one after the other: random modules of several
// graphs over shared state (random_module.h), submitted in random order from several threads, with
// lags, failures, results that are dropped, asked for with time-outs, polled, or fetched late.
//
// In half of the modules submission and oracle are under one lock, so that each result is compared.
// In the others threads submit as they like: what an execution adds does not depend on the order,
// so the states at the end do not either, and each failure is its own.
//
// CGRAPH_ENGINE_EXECUTIONS says how many, CGRAPH_ENGINE_SEED where to begin.
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/engine/engine.h"
#include "tests/engine_oracle/random_module.h"

namespace cgraph::oracle {
namespace {

using plan::DType;
using std::chrono::microseconds;
using std::chrono::milliseconds;

uint64_t Number(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

struct Submitted {
  Execution execution;
  uint32_t graph;
  int64_t fail;
  std::optional<float> expected;
  bool fails;
};

class Session {
 public:
  Session(Engine& engine, const Module& module, bool ordered)
      : engine_(engine), module_(module), ordered_(ordered), oracle_(module) {}

  void Thread(uint32_t seed, uint64_t count) {
    std::mt19937 random(seed);
    std::vector<Submitted> pending;
    for (uint64_t i = 0; i < count; ++i) {
      auto submitted = Submit(random, ordered_);
      if (!submitted) continue;
      Rest(random);
      switch (random() % 8) {
        case 0: continue;  // dropped
        case 1: static_cast<void>(submitted->execution.Get(milliseconds(0)).ok()); break;
        case 2: static_cast<void>(submitted->execution.Get(microseconds(random() % 300)).ok());
          break;
        case 3: static_cast<void>(submitted->execution.Ready()); break;
        case 4: Poll(*submitted); break;
        case 5: Check(*submitted, ordered_); continue;
        default: break;
      }
      pending.push_back(std::move(*submitted));
      while (pending.size() > random() % 7) Fetch(random, pending);
    }
    while (!pending.empty()) Fetch(random, pending);
  }

  // Submits one after the other, when nobody else does.
  void Alone(uint32_t seed, uint64_t count) {
    std::mt19937 random(seed);
    for (uint64_t i = 0; i < count; ++i) {
      auto submitted = Submit(random, true);
      if (submitted) Check(*submitted, true);
    }
  }

  std::string wrong() {
    std::lock_guard lock(wrong_mutex_);
    return wrong_;
  }

 private:
  std::optional<Submitted> Submit(std::mt19937& random, bool ordered) {
    const uint32_t graph = random() % module_.graphs.size();
    const auto x = static_cast<float>(random() % 3);
    const int64_t fail = random() % 5 == 0 ? random() % 5 : -1;
    const int64_t ms = random() % 300 == 0 ? 1 : 0;
    const int64_t dims[] = {1};
    const Input inputs[] = {{"x", &x, DType::f32, dims},
                            {"fail", &fail, DType::i64, {}},
                            {"ms", &ms, DType::i64, {}}};
    const WhenFull when_full = random() % 4 == 0 ? WhenFull::kError : WhenFull::kWait;
    std::unique_lock lock(order_, std::defer_lock);
    if (ordered) lock.lock();
    auto execution = engine_.Execute(graph, inputs, when_full);
    if (!execution.ok()) {
      if (execution.status().code() != StatusCode::kCapacity) Wrong(execution.status().message());
      return std::nullopt;
    }
    if (!ordered) lock.lock();
    const std::optional<float> expected = oracle_.Execute(graph, x, fail);
    return Submitted{std::move(*execution), graph, fail, expected, !expected.has_value()};
  }

  void Rest(std::mt19937& random) {
    if (random() % 4000 == 0) std::this_thread::sleep_for(milliseconds(120));  // the watchdog looks
    if (random() % 200 == 0) std::this_thread::sleep_for(microseconds(random() % 1000));
  }

  void Poll(Submitted& submitted) {
    const auto start = std::chrono::steady_clock::now();
    while (!submitted.execution.Ready()) {
      std::this_thread::sleep_for(microseconds(20));
      if (std::chrono::steady_clock::now() - start < std::chrono::seconds(30)) continue;
      return Wrong("Ready() has not become true");
    }
  }

  void Fetch(std::mt19937& random, std::vector<Submitted>& pending) {
    const size_t at = random() % pending.size();
    std::swap(pending[at], pending.back());
    Check(pending.back(), ordered_);
    pending.pop_back();
  }

  void Check(Submitted& submitted, bool compare) {
    const Result<Outputs> outputs = submitted.execution.Get();
    if (submitted.fails) {
      std::lock_guard lock(order_);
      const std::string expected = oracle_.FailureOf(submitted.graph, submitted.fail);
      if (outputs.ok() || outputs.status().message() != expected) {
        Wrong("expected: " + expected + ", seen: " +
              (outputs.ok() ? "a result" : outputs.status().message()));
      }
    } else if (!outputs.ok()) {
      Wrong(outputs.status().message());
    } else if (const float y = *(*outputs)[0].as<float>(); compare && y != *submitted.expected) {
      Wrong("graph " + std::to_string(submitted.graph) + " gives " + std::to_string(y) +
            ", expected " + std::to_string(*submitted.expected));
    }
  }

  void Wrong(const std::string& what) {
    std::lock_guard lock(wrong_mutex_);
    if (wrong_.empty()) wrong_ = what;
  }

  Engine& engine_;
  const Module& module_;
  const bool ordered_;
  std::mutex order_;  // of submission, where it counts; and of the oracle
  Oracle oracle_;
  std::mutex wrong_mutex_;
  std::string wrong_;
};

constexpr uint64_t kThreads = 3, kEach = 250, kAlone = 20;

// Executes kThreads * kEach + kAlone times.
std::string Try(uint32_t seed) {
  std::mt19937 random(seed);
  const Module module = RandomModule(random);
  EngineOptions options;
  options.workers = 1 + random() % 3;
  options.timeout = std::chrono::seconds(60);
  options.trace = random() % 8 == 0;
  auto engine = Engine::Load(MakePlan(module), options);
  if (!engine.ok()) return engine.status().message();
  Session session(**engine, module, random() % 2 == 0);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, s = static_cast<uint32_t>(random())] { session.Thread(s, kEach); });
  }
  if (options.trace) static_cast<void>((*engine)->Trace(0));
  for (std::thread& thread : threads) thread.join();
  session.Alone(static_cast<uint32_t>(random()), kAlone);
  return session.wrong();
}

TEST_CASE("several graphs over shared state, submitted from several threads, as one by one") {
  const uint64_t executions = Number("CGRAPH_ENGINE_EXECUTIONS", 100000);
  const uint64_t first = Number("CGRAPH_ENGINE_SEED", 1);
  const uint64_t modules = executions / (kThreads * kEach + kAlone) + 1;
  for (uint64_t m = 0; m < modules; ++m) {
    const auto seed = static_cast<uint32_t>(first + m);
    INFO("CGRAPH_ENGINE_SEED=" << seed);
    REQUIRE(Try(seed) == "");
  }
}

}  // namespace
}  // namespace cgraph::oracle
