// Sleeping and waking where a wake-up is slow: the time that threads spin follows it, so after a
// pause both sides of a hand-over are awake again within three executions.
#include <dlfcn.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdarg>
#include <filesystem>
#include <fstream>
#include <thread>

#include "runtime/base/sync/cores.h"
#include "runtime/base/sync/spin.h"
#include "runtime/engine/engine.h"
#include "tests/support/plans/flow_plan.h"

namespace {

std::atomic<int64_t> delay_us{0};
std::atomic<uint64_t> sleeps{0};

}  // namespace

// Replaces the C library's: a thread that was woken from a futex runs again only after the delay.
extern "C" long syscall(long number, ...) {
  using Call = long (*)(long, long, long, long, long, long, long);
  static const auto call = reinterpret_cast<Call>(dlsym(RTLD_NEXT, "syscall"));
  va_list list;
  va_start(list, number);
  long argument[6];
  for (long& each : argument) each = va_arg(list, long);
  va_end(list);
  const long result = call(number, argument[0], argument[1], argument[2], argument[3], argument[4],
                           argument[5]);
  const bool slept = number == SYS_futex && (argument[1] & FUTEX_CMD_MASK) == FUTEX_WAIT;
  if (slept && result == 0) {
    ++sleeps;
    const auto until =
        std::chrono::steady_clock::now() + std::chrono::microseconds(delay_us.load());
    while (std::chrono::steady_clock::now() < until) {
    }
  }
  return result;
}

namespace cgraph {
namespace {

using plan::DType;
using plan::testing::FlowPlan;
using std::chrono::microseconds;
using std::chrono::nanoseconds;

// Returns a plan of y = x + 1 on another worker than the caller's.
std::unique_ptr<plan::Plan> ThereAndBack() {
  FlowPlan flow(1);
  flow.Begin("main");
  const uint32_t x = flow.Input("x"), y = flow.Scalar("y", 0);
  flow.Call(0, flow.Kernel("add"), {x, flow.Constant(0, 1)}, {y});
  flow.Give("y", y);
  return flow.Build();
}

void Run(Engine& engine, int count) {
  for (int64_t x = 0; x < count; ++x) {
    const Input input = {"x", &x, DType::i64, {}};
    auto execution = engine.Execute(0u, {&input, 1});
    REQUIRE(execution.ok());
    REQUIRE(execution->Get().ok());
  }
}

// What all threads of the process have waited for a core so far; 0 where the system does not say.
nanoseconds WaitedForCores() {
  int64_t sum = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "schedstat");
    int64_t ran = 0, waited = 0;
    if (file >> ran >> waited) sum += waited;
  }
  return nanoseconds(sum);
}

}  // namespace

TEST_CASE("the time to spin is several times what a wake-up takes") {
  for (int i = 0; i < 200; ++i) SpinBudget::Observe(microseconds(1));
  const nanoseconds quick = SpinBudget::Get();
  CHECK(quick <= microseconds(50));
  SpinBudget::Observe(microseconds(150));
  CHECK(SpinBudget::Get() >= 3 * microseconds(150));  // at once
  for (int i = 0; i < 5; ++i) SpinBudget::Observe(microseconds(5));
  CHECK(SpinBudget::Get() >= 2 * microseconds(60));   // not forgotten at once
  for (int i = 0; i < 200; ++i) SpinBudget::Observe(microseconds(5));
  CHECK(SpinBudget::Get() <= microseconds(50));
  SpinBudget::Observe(std::chrono::seconds(5));       // the thread was held up, not its wake-up
  CHECK(SpinBudget::Get() <= std::chrono::milliseconds(2));
  for (int i = 0; i < 200; ++i) SpinBudget::Observe(microseconds(1));
}

// Pauses in which other work of the machine held a thread up say nothing and are not counted.
TEST_CASE("where a wake-up is slow, three executions after a pause nobody sleeps any more") {
  if (Cores() < 2) return;
  EngineOptions options;
  options.workers = 2;
  auto engine = Engine::Load(ThereAndBack(), options);
  REQUIRE(engine.ok());
  Run(**engine, 100);
  delay_us = 120;  // three times the time to spin where wake-ups are quick
  constexpr int kPauses = 20, kMostPauses = 1000, kExecutions = 20;
  int undisturbed = 0, awake = 0;
  for (int pause = 0; pause < kMostPauses && undisturbed < kPauses; ++pause) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // both sides fall asleep
    const nanoseconds waited = WaitedForCores();
    Run(**engine, 3);
    const uint64_t before = sleeps;
    Run(**engine, kExecutions);
    const bool asleep = sleeps - before > 1;
    if (WaitedForCores() - waited > microseconds(100)) continue;
    ++undisturbed;
    awake += !asleep;
  }
  delay_us = 0;
  if (undisturbed < kPauses) {
    WARN("SKIPPED: other work held the two threads up in all but " << undisturbed << " of "
                                                                   << kMostPauses << " pauses");
    return;
  }
  INFO(awake << " of " << kPauses << " undisturbed pauses");
  CHECK(awake >= kPauses / 2);  // without the measure: none
}

}  // namespace cgraph
