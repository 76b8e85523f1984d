// A kernel that never ends, in a program that goes on: it is reported, the engine is torn down in
// time, and nothing is freed that the kernel may still write to.
#include <catch2/catch.hpp>

#include <chrono>

#include "tests/emulation/engine/driver_control.h"
#include "tests/support/run.h"

namespace cgraph::emulation {

using std::chrono::milliseconds;

TEST_CASE("a teardown abandons a kernel that never ends, with the memory that it may touch") {
  const std::string path = CGRAPH_SOURCE_DIR "/tests/emulation/engine/endless.cgraph";
  std::string abandoned, timed_out;
  EngineOptions options{.require_gpus = true, .timeout = milliseconds(700)};
  options.timed_out = [&](const Status& status) { timed_out = status.message(); };
  options.abandoned = [&](const Status& status) { abandoned = status.message(); };
  {
    testing::Runner runner(path, {}, options);
    auto held = runner.Start("run", {3});
    REQUIRE(held.ok());
    auto early = held->Get(milliseconds(300));
    CHECK(early.status().code() == StatusCode::kTimeout);
    CHECK(early.status().message().find("a.second (") != std::string::npos);
    const Status late = held->Get().status();
    CHECK(late.code() == StatusCode::kTimeout);
    CHECK(late.message().find("a.second (") != std::string::npos);
    CHECK(late.message().find("waits for gpu[0] compute") != std::string::npos);
  }
  CHECK(timed_out.find("nothing has moved for 0.7 s") == 0);
  INFO(abandoned);
  CHECK(abandoned.find("has not ended 0.7 s") != std::string::npos);
  CHECK(abandoned.find("a.second (") != std::string::npos);
  CHECK(DriverControl().live() > 0);
}

// ncclCommAbort waits for the kernel, in the emulation for ever.
TEST_CASE("a teardown ends in time where NCCL waits for a kernel that never ends", "[.nccl]") {
  using Clock = std::chrono::steady_clock;
  const std::string path = CGRAPH_SOURCE_DIR "/tests/emulation/engine/endless.cgraph";
  std::string abandoned;
  EngineOptions options{.require_gpus = true, .timeout = milliseconds(700)};
  options.timed_out = [](const Status&) {};
  options.abandoned = [&](const Status& status) { abandoned = status.message(); };
  Clock::time_point begun;
  {
    testing::Runner runner(path, {}, options);
    auto held = runner.Start("sum", {3});
    REQUIRE(held.ok());
    CHECK(held->Get().status().code() == StatusCode::kTimeout);
    begun = Clock::now();
  }
  CHECK(Clock::now() - begun < milliseconds(3000));
  INFO(abandoned);
  CHECK(abandoned.find("a.second (") != std::string::npos);
}

}  // namespace cgraph::emulation
