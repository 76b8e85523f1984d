// An engine whose workers are processes, as programs that embed it see it.
#include <catch2/catch.hpp>

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/run.h"

namespace cgraph::testing {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr const char* kCounter = CGRAPH_SOURCE_DIR "/tests/ranks/stages.cgraph";

EngineOptions Processes(uint32_t processes = kProcessPerDevice) {
  EngineOptions options;
  options.processes = processes;
  options.rank_program = CGRAPH_CGRUN;
  return options;
}

// Returns the process of a rank of the only engine.
int ProcessOf(uint32_t rank) {
  const std::string argument = "--rank=" + std::to_string(rank);
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string pid = entry.path().filename();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream stat(entry.path() / "stat"), line(entry.path() / "cmdline");
    std::string words, name, state, parent;
    stat >> words >> name >> state >> parent;
    std::getline(line, words, '\0');
    std::getline(line, words, '\0');
    if (parent == std::to_string(getpid()) && words == argument) return std::stoi(pid);
  }
  return -1;
}

std::string LoadError(const EngineOptions& options) {
  auto engine = Engine::Load(CompileFile(kCounter), options);
  return engine.ok() ? "" : engine.status().message();
}

}  // namespace

TEST_CASE("several engines of one process have processes of their own") {
  Runner first(kCounter, {}, Processes()), second(kCounter, {}, Processes(2));
  for (int64_t i = 1; i <= 20; ++i) {
    CHECK(first.Run("count", {1}) == std::vector<int64_t>{3 * i});
    CHECK(second.Run("count", {2}) == std::vector<int64_t>{6 * i});
  }
}

TEST_CASE("results are the caller's, as many as it holds, and when the processes have gone") {
  std::vector<Outputs> held;
  {
    Runner runner(kCounter, {}, Processes());
    for (int64_t i = 0; i < 50; ++i) {
      auto execution = runner.Start("add", {i});
      REQUIRE(execution.ok());
      auto outputs = execution->Get();
      REQUIRE(outputs.ok());
      held.push_back(std::move(*outputs));
    }
  }
  for (int64_t i = 0; i < 50; ++i) CHECK(Numbers(held[i]) == std::vector<int64_t>{i + 3});
  Runner again(kCounter, {}, Processes());  // beside the memory of the results that are held
  CHECK(again.Run("add", {5}) == std::vector<int64_t>{8});
}

TEST_CASE("an engine with processes may be used by several threads, and dropped at any time") {
  for (int round = 0; round < 5; ++round) {
    Runner runner(kCounter, {}, Processes());
    std::vector<std::thread> threads;
    std::atomic<int> right{0};
    for (int64_t t = 0; t < 3; ++t) {
      threads.emplace_back([&runner, &right, t] {
        for (int64_t i = 0; i < 200; ++i) {
          auto execution = runner.Start("add", {1000 * t + i});
          if (!execution.ok() || i % 3 == 0) continue;  // some results nobody asks for
          auto outputs = execution->Get();
          right += outputs.ok() && Numbers(*outputs) == std::vector<int64_t>{1000 * t + i + 3};
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(right == 3 * 133);
    for (int i = 0; i < 3; ++i) static_cast<void>(runner.Start("slow", {i}).ok());
  }
}

TEST_CASE("an error in another process is seen before others are done") {
  Runner runner(kCounter, {}, Processes());
  const auto begun = Clock::now();
  auto execution = runner.Start("fail_beside_slow", {7});
  REQUIRE(execution.ok());
  const Status status = execution->Get(std::chrono::seconds(20)).status();
  CHECK(Clock::now() - begun < milliseconds(2000));  // the other one takes 2.5 s
  CHECK(status.code() == StatusCode::kFailed);
  CHECK(status.message().find("stage[1].refuse") != std::string::npos);
  CHECK(status.message().find("7 is refused") != std::string::npos);
  CHECK(runner.Run("add", {1}) == std::vector<int64_t>{4});
}

TEST_CASE("an execution that fails in several processes fails, for whoever waits, each time") {
  Runner runner(kCounter, {}, Processes());
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&runner, &wrong] {
      for (int64_t i = 0; i < 300; ++i) {
        auto execution = runner.Start("fail_in_some", {i});
        if (!execution.ok()) {
          ++wrong;
          continue;
        }
        auto outputs = execution->Get();
        if (i % 2 == 0) {
          wrong += !outputs.ok() || Numbers(*outputs) != std::vector<int64_t>{i, i};
        } else {
          wrong += outputs.ok() ||
                   outputs.status().message().find("it is odd") == std::string::npos;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(runner.Run("fail_in_some", {2}) == std::vector<int64_t>{2, 2});
  CHECK(runner.engine().GetStats().errors == 3 * 150);
}

TEST_CASE("what keeps a process from loading the plan is the error of Load") {
  EngineOptions options = Processes();
  options.rank_program = "/nowhere/cgrun";
  CHECK(LoadError(options).find("/nowhere/cgrun: No such file") != std::string::npos);
  options.rank_program = "/bin/false";
  CHECK(LoadError(options).find("rank 1") != std::string::npos);
  options.rank_program = "/bin/sleep";  // ends with a message about its argument
  CHECK(LoadError(options).find("it had not loaded the plan yet") != std::string::npos);
  options = Processes(100000);
  CHECK(LoadError(options).empty());  // no more than one for each device
}

TEST_CASE("a run that a process has died in ends for everybody, with one error") {
  Runner runner(kCounter, {}, Processes());
  auto before = runner.Start("add", {1});
  REQUIRE(before.ok());
  auto outputs = before->Get();
  REQUIRE(outputs.ok());
  auto slow = runner.Start("slow", {1});
  REQUIRE(slow.ok());
  const auto begun = Clock::now();
  const int process = ProcessOf(2);
  REQUIRE(process > 0);
  REQUIRE(kill(process, SIGKILL) == 0);
  const Status status = slow->Get().status();
  CHECK(status.code() == StatusCode::kLost);
  CHECK(status.message().find("rank 2") != std::string::npos);
  CHECK(runner.Start("add", {1}).status().message() == status.message());
  CHECK(Clock::now() - begun < milliseconds(3000));
  CHECK(Numbers(*outputs) == std::vector<int64_t>{4});
}

}  // namespace cgraph::testing
