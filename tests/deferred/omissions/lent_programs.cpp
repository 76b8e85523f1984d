#include "tests/deferred/omissions/programs.h"

#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstring>
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

namespace {

constexpr int64_t kLength = 2048;

// Pages that are gone when they are given back: who still reads them crashes.
class Lent {
 public:
  Lent()
      : data_(mmap(nullptr, kLength * sizeof(float), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  void TakeBack() { munmap(data_, kLength * sizeof(float)); }
  Execution Lend(Engine& engine, int64_t fail, int64_t ms) {
    const int64_t dims[] = {kLength};
    const Input inputs[] = {{"x", data_, DType::f32, dims, /*lent=*/true},
                            {"fail", &fail, DType::i64, {}},
                            {"ms", &ms, DType::i64, {}}};
    return std::move(*engine.Execute(0u, inputs));
  }

 private:
  void* data_;
};

// Device 0 fails if it is asked to; device 1 sleeps for `ms` and reads x.
std::unique_ptr<plan::Plan> Lending() {
  FlowPlan flow(2);
  flow.Begin("lending", 2);
  const uint32_t x = flow.Input("x", DType::f32, {kLength});
  const uint32_t fail = flow.Input("fail");
  const uint32_t ms = flow.Input("ms");
  const uint32_t well = flow.Scalar("well", 0, DType::bool_);
  flow.Method(0, "check", 1);
  flow.Call(0, flow.Kernel("not_equal"), {fail, flow.Constant(0, 1)}, {well});
  flow.Call(0, flow.Check("no"), {well}, {});
  const uint32_t y = flow.Tensor("y", 1, DType::f32, {kLength});
  flow.Method(1, "read", 2);
  flow.Call(1, flow.Kernel("sleep"), {ms}, {});
  flow.Call(1, flow.Kernel("add"), {x, x}, {y});
  flow.Give("y", y);
  return flow.Build();
}

}  // namespace

bool FailsWithoutReaders() {
  const EnginePtr engine = Load(Lending(), Workers(3));
  Lent lent;
  Execution run = lent.Lend(*engine, 1, 5);
  const bool failed = run.Get().status().code() == StatusCode::kFailed;
  lent.TakeBack();
  std::this_thread::sleep_for(milliseconds(60));
  return failed;
}

// What fails may be the last that an execution does.
bool FailsWhenAsked() {
  const EnginePtr engine = Load(Lending(), Workers(1));
  bool right = true;
  for (int64_t i = 0; i < 40; ++i) {
    Lent lent;
    const bool fails = i % 4 != 0;
    Execution run = lent.Lend(*engine, fails, 0);
    right &= run.Get().status().code() == (fails ? StatusCode::kFailed : StatusCode::kOk);
    lent.TakeBack();
  }
  return right;
}

// Nobody reads what was lent when Teardown returns. `drives`: worker 0 is inside Get.
bool TornDown(uint32_t workers, bool drives) {
  const EnginePtr engine = Load(Lending(), Workers(workers));
  Lent lent;
  Execution run = lent.Lend(*engine, 0, 60);
  std::thread driver;
  if (drives) driver = std::thread([&] { static_cast<void>(run.Get().ok()); });
  std::this_thread::sleep_for(milliseconds(20));
  engine->Teardown();
  lent.TakeBack();
  std::this_thread::sleep_for(milliseconds(100));
  if (driver.joinable()) driver.join();
  return true;
}

// Get is inside submission when the engine goes.
bool GoesDuringFlush() {
  EnginePtr engine = Load(Counting(), Workers(2));
  Execution run = Start(*engine, 0, {0});
  std::thread asks([&] { static_cast<void>(run.Get().ok()); });
  std::this_thread::sleep_for(milliseconds(8));
  engine.reset();
  asks.join();
  return true;
}

// A report is being made when the engine goes. One that is begun when it has gone says so, and says
// nothing of lanes: what it has read of them was no memory of theirs.
bool GoesDuringReport() {
  using Clock = std::chrono::steady_clock;
  EnginePtr engine = Load(Lending(), Workers(3));
  Lent lent;
  Execution run = lent.Lend(*engine, 0, 5);
  std::atomic<Clock::duration> gone{std::chrono::hours(24 * 365 * 100)};
  bool right = true;
  std::thread asks([&] {
    for (;;) {
      const Status status = run.Get(milliseconds(0)).status();
      if (status.code() != StatusCode::kTimeout) return;
      // A report that was begun before holds the engine back, and is told at once.
      const bool late = Clock::now().time_since_epoch() > gone.load() + milliseconds(15);
      right &= !late || status.message().find("torn down") != std::string::npos;
    }
  });
  std::this_thread::sleep_for(milliseconds(8));
  engine.reset();
  gone = Clock::now().time_since_epoch();
  asks.join();
  return right;
}

// What is told of a time-out is not called any more when the engine has gone.
bool GoesAfterCallback() {
  std::atomic<bool> called{false}, gone{false}, late{false};
  EngineOptions options;
  options.timeout = milliseconds(20);
  options.timed_out = [&](const Status&) {
    called = true;
    std::this_thread::sleep_for(milliseconds(30));
    late = gone.load();
  };
  EnginePtr engine = Load(Lending(), options);
  Lent lent;
  Execution run = lent.Lend(*engine, 0, 200);
  std::thread asks([&] { static_cast<void>(run.Get().ok()); });
  while (!called) std::this_thread::yield();
  engine.reset();
  gone = true;
  asks.join();
  std::this_thread::sleep_for(milliseconds(50));
  return !late;
}

}  // namespace cgraph::testing
