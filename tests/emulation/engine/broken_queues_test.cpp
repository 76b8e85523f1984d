// Queues of GPUs that are broken, since NCCL or the driver reports an error.
#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/device/backends.h"
#include "runtime/device/queue.h"
#include "runtime/device/semaphore_array.h"
#include "runtime/plan/plan.h"
#include "tests/emulation/engine/driver_control.h"
#include "tests/emulation/nccl/control.h"
#include "tests/support/run.h"

namespace cgraph::emulation {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr const char* kPath = CGRAPH_SOURCE_DIR "/tests/emulation/engine/broken_queues.cgraph";

// After the engine has opened it.
const NcclControl& Nccl() {
  return ControlOf<decltype(&cgraph_emulated_nccl)>("libnccl.so.2", "cgraph_emulated_nccl");
}

void FailLaunch(uint64_t from_now) { Nccl().fail_at(Nccl().launches() + from_now); }

// TwoGpus: the devices gpu[0] and gpu[1] on GPUs of their own, without an engine, and semaphores.
struct TwoGpus {
  TwoGpus() {
    for (uint32_t i = 0; i < 3; ++i) plan.devices.push_back(std::make_unique<plan::Device>());
    for (uint32_t i = 1; i < 3; ++i) plan.devices[i]->kind = plan::DeviceKind::gpu;
    auto opened = device::BackendRegistry::Get().OpenAll(plan, {{{1, 0}, {2, 1}}, {}});
    REQUIRE(opened.ok());
    host = std::move((*opened)[0]);
    for (uint32_t i = 0; i < 2; ++i) gpus[i] = std::move((*opened)[i + 1]);
    semaphores = std::move(*device::SemaphoreArray::Make(*host, 5, "semaphores"));
  }
  std::unique_ptr<device::Queue> Open(int gpu) {
    return std::move(*gpus[gpu]->OpenQueue({&event_count, 64, false}));
  }

  plan::Plan plan;
  std::unique_ptr<device::Device> host, gpus[2];
  device::SemaphoreArray semaphores;
  EventCount event_count;  // of whoever issues
};

// Lets calls of the driver fail, one at a time, until the GPU's queue is broken by one. Its stream
// goes on.
void Break(device::Queue& queue, const device::Device& gpu, TimelineSemaphore& unused) {
  for (uint64_t i = 1; gpu.Failure().ok(); ++i) {
    REQUIRE(i < 1000);
    DriverControl().fail_at(DriverControl().calls() + 2, /*sticky=*/false);  // behind the context's
    queue.Signal(&unused, i);
  }
  DriverControl().fail_at(0, false);
}

bool WaitFor(const TimelineSemaphore& semaphore, uint64_t value, Clock::time_point end) {
  while (!semaphore.Reached(value) && Clock::now() < end) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  return semaphore.Reached(value);
}

}  // namespace

TEST_CASE("a queue that breaks while it measures gives all events back") {
  const testing::Runner holds(kPath, {}, {.require_gpus = true});  // contexts, which own events
  uint64_t live = 0;
  for (const uint64_t fails : {0, 1, 5}) {
    {
      testing::Runner runner(kPath, {}, {.require_gpus = true, .profile = true});
      if (fails != 0) FailLaunch(fails);
      CHECK(runner.Fail("sum", {3}).empty() == (fails == 0));
    }
    if (fails == 0) live = DriverControl().live();
    CHECK(DriverControl().live() == live);
  }
}

TEST_CASE("an error of a communicator behind another one's collective is found") {
  testing::Runner runner(kPath, {}, {.workers = 6, .require_gpus = true});
  const uint64_t aborted = Nccl().aborted();
  const Clock::time_point begun = Clock::now();
  // GPUs 0 and 2 issue two collectives each while the host's thread sleeps: the last one of the
  // four is of the communicator that they have in common.
  FailLaunch(4);
  auto held = runner.Start("late", {3});
  REQUIRE(held.ok());
  while (Nccl().aborted() == aborted && Clock::now() - begun < milliseconds(2500)) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  CHECK(Clock::now() - begun < milliseconds(2500));
  CHECK(!held->Get().ok());
}

// The stream of a broken queue goes on, and signals less than what was signalled in its place.
TEST_CASE("executions end after a queue has broken, in every order") {
  for (uint64_t seed = 1; seed <= 25; ++seed) {
    INFO("seed " << seed);
    EngineOptions options{.require_gpus = true, .timeout = milliseconds(4000)};
    options.timed_out = [](const Status&) {};
    testing::Runner runner(kPath, {}, options);
    DriverControl().reseed(seed);
    FailLaunch(1 + seed % 17);
    std::vector<Execution> held;
    for (int i = 0; i < 6; ++i) {
      auto execution = runner.Start("sum", {i});
      if (execution.ok()) held.push_back(std::move(*execution));
    }
    for (Execution& execution : held) {
      const Status status = execution.Get().status();
      INFO(status.message());
      CHECK(status.code() != StatusCode::kTimeout);
    }
  }
}

// The stream writes 1 where 2 stands, since the second signal was not issued to it any more. By
// then all entries of the queue are failed and forgotten, and nobody polls it.
TEST_CASE("a broken queue's stream lowers no semaphore for good") {
  const Clock::time_point end = Clock::now() + std::chrono::seconds(10);
  TwoGpus two;
  TimelineSemaphore &gate = two.semaphores[0], &lowered = two.semaphores[1],
                            &other_gate = two.semaphores[2], &done = two.semaphores[3];
  EventCount listener;  // of a thread of the host, which waits for `lowered`, too
  lowered.AddListener(&listener);
  const auto broken = two.Open(0), other = two.Open(1);
  broken->Wait(&gate, 1, {});
  broken->Signal(&lowered, 1);
  Break(*broken, *two.gpus[0], two.semaphores[4]);
  other->Wait(&other_gate, 1, {});
  other->Wait(&lowered, 2, {});
  other->Signal(&done, 1);
  broken->Signal(&lowered, 2);
  REQUIRE(WaitFor(lowered, 2, end));
  std::this_thread::sleep_for(milliseconds(50));  // until listeners have heard of that

  std::atomic<bool> heard = false, listens = false;
  std::thread host([&] {
    const auto found_lowered = [&] {
      listens = true;
      return false;
    };
    heard = listener.Wait(found_lowered, Clock::now() + milliseconds(2000));
  });
  while (!listens) std::this_thread::yield();
  gate.Signal(1);
  while (DriverControl().pending() != 3 && Clock::now() < end) {  // those of the other GPU
    std::this_thread::sleep_for(milliseconds(1));
  }
  host.join();
  CHECK(heard);
  other_gate.Signal(1);
  CHECK(WaitFor(done, 1, end));
}

// What the stream of a broken queue still does, and who follows on the CPU, work on memory that may
// hold anything.
TEST_CASE("the error is that of the queue, and nobody sees what has come of it") {
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    INFO("seed " << seed);
    testing::Runner runner(kPath, {}, {.require_gpus = true});
    DriverControl().reseed(seed);
    CHECK(runner.Run("keep", {3}) == std::vector<int64_t>{16});
    FailLaunch(1 + seed % 4);
    const std::string error = runner.Fail("keep", {4});
    CHECK(error.find("NCCL") != std::string::npos);
    CHECK(error.find("wrong") == std::string::npos);
    CHECK(runner.Start("look", {}).status().message() == error);
  }
}

// Signals are made in place of the broken queue's, so the execution seems to be over.
TEST_CASE("an engine ends when a queue breaks, though nobody asks for what comes of it") {
  testing::Runner runner(kPath, {}, {.require_gpus = true});
  FailLaunch(1);
  auto held = runner.Start("sum", {3});
  REQUIRE(held.ok());
  const Clock::time_point begun = Clock::now();
  Status status;
  while (status.ok() && Clock::now() - begun < milliseconds(2500)) {
    held->Ready();  // it goes on
    std::this_thread::sleep_for(milliseconds(5));
    status = runner.Start("look", {}).status();
  }
  CHECK(status.message().find("NCCL") != std::string::npos);
}

}  // namespace cgraph::emulation
