// Resources that a machine may lack when a plan is loaded: threads, memory. A Status says so, and
// nothing is left behind: no thread (the process would not end), no memory (the leak checker).
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "runtime/engine/engine.h"
#include "tests/support/plans/flow_plan.h"

namespace {

// The number of threads that can still be made; less than 0: any number.
std::atomic<int64_t> threads_left{-1};
thread_local int64_t allocations_left = -1;  // of this thread
bool small_machine = false;                  // has 1 GiB free, the system says

bool Takes(int64_t& left) { return left < 0 || left-- > 0; }

}  // namespace

// Replaces the system's function, which std::thread calls.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*start)(void*), void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  if (threads_left >= 0 && threads_left-- <= 0) return EAGAIN;
  return create(thread, attributes, start, argument);
}

extern "C" FILE* fopen(const char* path, const char* mode) {
  using Open = FILE* (*)(const char*, const char*);
  static const auto open = reinterpret_cast<Open>(dlsym(RTLD_NEXT, "fopen"));
  static char free[] = "MemAvailable: 1048576 kB\n";
  if (small_machine && std::strcmp(path, "/proc/meminfo") == 0) {
    return fmemopen(free, sizeof(free) - 1, "r");
  }
  return open(path, mode);
}

[[gnu::noinline]] void* operator new(size_t size) {
  if (Takes(allocations_left)) {
    if (void* memory = std::malloc(size)) return memory;
  }
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return Takes(allocations_left) ? std::malloc(size) : nullptr;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace cgraph {
namespace {

using plan::DType;
using plan::testing::FlowPlan;

// y = x + 1 on the one device, and once more on the other.
std::unique_ptr<plan::Plan> SmallPlan(uint32_t inflight = 2) {
  FlowPlan flow(2);
  flow.Begin("twice", inflight, inflight > 1 ? 1 : 0);
  uint32_t at = flow.Input("x");
  for (uint32_t device = 0; device < 2; ++device) {
    if (device == 1) {
      flow.Lag(inflight > 1 ? 1 : 0);
      at = flow.Transfer(at, 0, 1, 1);
    }
    const uint32_t sum = flow.Scalar("sum", device);
    flow.Call(device, flow.Kernel("add"), {at, flow.Constant(device, 1)}, {sum});
    at = sum;
  }
  flow.Give("y", at);
  return flow.Build();
}

EngineOptions ThreeWorkers() {
  EngineOptions options;
  options.workers = 3;
  return options;
}

void CheckRuns(Engine& engine) {
  const int64_t x = 5;
  const Input input = {"x", &x, plan::DType::i64, {}};
  auto execution = engine.Execute(0u, {&input, 1});
  REQUIRE(execution.ok());
  const auto outputs = execution->Get();
  REQUIRE(outputs.ok());
  CHECK(*(*outputs)[0].as<int64_t>() == 7);
}

}  // namespace

TEST_CASE("threads that cannot be made: a status, and those that were made have ended") {
  constexpr int kThreads = 4;  // two workers', the stand-in, the watchdog
  for (int made = 0; made < kThreads; ++made) {
    threads_left = made;
    const auto engine = Engine::Load(SmallPlan(), ThreeWorkers());
    threads_left = -1;
    REQUIRE(engine.status().code() == StatusCode::kNotFound);
    CHECK(engine.status().message().find("the engine needs 4 threads") == 0);
  }
  threads_left = kThreads;
  auto engine = Engine::Load(SmallPlan(), ThreeWorkers());
  threads_left = -1;
  REQUIRE(engine.ok());
  CheckRuns(**engine);
}

TEST_CASE("the n-th allocation of a load fails: a status, for every n") {
  const auto plan = SmallPlan();
  int64_t n = 0;
  bool loaded = false;
  for (; !loaded && n < 100000; ++n) {
    auto copy = std::make_unique<plan::Plan>(*plan);
    allocations_left = n;
    auto engine = Engine::Load(std::move(copy), ThreeWorkers());
    allocations_left = -1;
    loaded = engine.ok();
    if (loaded) {
      CheckRuns(**engine);
    } else {
      CHECK(engine.status().code() == StatusCode::kNotFound);
    }
  }
  CHECK(loaded);
  CHECK(n > 100);
}

TEST_CASE("an execution for which there is no memory fails alone") {
  auto engine = Engine::Load(SmallPlan(/*inflight=*/1), ThreeWorkers());
  REQUIRE(engine.ok());
  std::vector<Outputs> held;
  held.reserve(64);
  const int64_t x = 5;
  const Input input = {"x", &x, plan::DType::i64, {}};
  int failed = 0;
  for (int i = 0; i < 50; ++i) {
    allocations_left = i % 2 == 0 ? 0 : -1;  // more results are held than ever before
    auto execution = (*engine)->Execute(0u, {&input, 1});
    allocations_left = -1;
    failed += !execution.ok();
    if (!execution.ok()) continue;
    auto outputs = execution->Get();
    REQUIRE(outputs.ok());
    held.push_back(*outputs);
  }
  CHECK(failed > 0);
  CHECK(held.size() >= 25);
  CheckRuns(**engine);
}

TEST_CASE("more executions in flight than there is memory for are refused, not begun") {
  FlowPlan flow(1);
  flow.Begin("wide", 1000);
  const uint32_t x = flow.Input("x");
  const uint32_t sum = flow.Scalar("sum", 0);
  for (int i = 0; i < 20000; ++i) flow.Call(0, flow.Kernel("add"), {x, x}, {sum});
  flow.Give("y", sum);
  EngineOptions options;
  options.proved = false;
  small_machine = true;
  const auto engine = Engine::Load(flow.Build(), options);
  small_machine = false;
  REQUIRE(engine.status().code() == StatusCode::kInvalid);
  const std::string& message = engine.status().message();
  CHECK(message.find("the bookkeeping of 1000 executions of `wide` would take") == 0);
  CHECK(message.find("this machine has 1 GiB free") != std::string::npos);
}

}  // namespace cgraph
