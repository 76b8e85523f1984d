// Executions in flight overlap: shown by the order of events, not by the clock. The second stage
// prints, and blocks while nobody reads: so no execution can end, and all further work of the first
// stage is for executions behind the one that is held.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "runtime/load/sync/sync.h"
#include "runtime/plan/graph_index.h"
#include "tests/support/run.h"

namespace cgraph::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// HeldStandardError: a thread that writes to standard error waits until Release().
class HeldStandardError {
 public:
  HeldStandardError() {
    REQUIRE(pipe(pipe_) == 0);
    const int flags = fcntl(pipe_[1], F_GETFL);
    fcntl(pipe_[1], F_SETFL, flags | O_NONBLOCK);
    const std::string junk(4096, '\n');
    while (write(pipe_[1], junk.data(), junk.size()) > 0) {
    }
    while (write(pipe_[1], junk.data(), 1) > 0) {  // to the last byte
    }
    fcntl(pipe_[1], F_SETFL, flags);
    saved_ = dup(STDERR_FILENO);
    dup2(pipe_[1], STDERR_FILENO);
  }
  ~HeldStandardError() { Release(); }

  // Releases the writers. Nothing reads before; everything written is thrown away.
  void Release() {
    if (saved_ < 0) return;
    dup2(saved_, STDERR_FILENO);
    close(saved_);
    saved_ = -1;
    close(pipe_[1]);
    reader_ = std::thread([from = pipe_[0]] {
      char bytes[4096];
      while (read(from, bytes, sizeof bytes) > 0) {
      }
      close(from);
    });
    reader_.detach();
  }

 private:
  int pipe_[2] = {};
  int saved_ = -1;
  std::thread reader_;
};

uint64_t BusyNanoseconds(const Engine& engine, const std::string& lane) {
  for (const Engine::Stats::Lane& one : engine.GetStats().lanes) {
    if (one.name.find(lane) != std::string::npos) return one.busy_ns;
  }
  return 0;
}

// [immediate]: one thread runs all deferred devices, and here it is held.
TEST_CASE("D11 executions in flight overlap: the first stage is ahead of a second that is held",
          "[immediate]") {
  EngineOptions options;
  // One for each stage, and the caller's own, or the caller shares that of the first stage.
  options.workers = GENERATE(3, 2);
  options.profile = true;
  Runner run(CGRAPH_SOURCE_DIR "/tests/conformance/inflight.cgraph", {}, options);
  for (const auto& [graph, inflight] :
       {std::pair("two", 2), std::pair("three", 3), std::pair("sized", 3)}) {
    const std::vector<int64_t> dims(graph == std::string("sized"), 1);
    const uint64_t before = BusyNanoseconds(run.engine(), "cpu[0]");
    HeldStandardError held;
    std::vector<Execution> executions;
    for (int64_t x = 0; x < inflight; ++x) {
      const Input input{"x", &x, plan::DType::i64, dims};
      Result<Execution> execution = run.engine().Execute(graph, {{input}}, WhenFull::kError);
      REQUIRE(execution.ok());
      executions.push_back(std::move(*execution));
    }
    std::atomic<int> done{0};
    std::vector<int64_t> results;
    std::thread caller([&] {
      for (Execution& execution : executions) {
        Result<Outputs> outputs = execution.Get();
        ++done;
        if (outputs.ok()) results.push_back(Numbers(*outputs)[0]);
      }
    });
    // Each call of the first stage takes a millisecond at least.
    const uint64_t all = before + uint64_t{1'000'000} * inflight;
    const auto deadline = steady_clock::now() + std::chrono::seconds(60);
    while (BusyNanoseconds(run.engine(), "cpu[0]") < all && steady_clock::now() < deadline) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    const bool ahead = BusyNanoseconds(run.engine(), "cpu[0]") >= all;
    const int done_by_then = done;
    held.Release();
    caller.join();
    CHECK(ahead);
    CHECK(done_by_then == 0);
    REQUIRE(results.size() == static_cast<size_t>(inflight));
    for (int64_t x = 0; x < inflight; ++x) CHECK(results[x] == x + 2);
  }
}

const plan::Graph& SizedGraph(const plan::Plan& plan) {
  const auto graph = std::find_if(plan.graphs.begin(), plan.graphs.end(),
                                  [](const auto& one) { return one->name == "sized"; });
  REQUIRE(graph != plan.graphs.end());
  return **graph;
}

// The plan has the extent wait for the execution three rounds back, whose copy of it is used again.
TEST_CASE("D11 submission makes an input's extent unless its copy may be in use", "[immediate]") {
  Runner run(CGRAPH_SOURCE_DIR "/tests/conformance/inflight.cgraph");
  const plan::Plan& plan = run.engine().plan();
  const plan::Graph& graph = SizedGraph(plan);
  const auto& instructions = graph.instructions;
  const auto input = std::find_if(instructions.begin(), instructions.end(), [](const auto& one) {
    return one.kind() == plan::Kind::input;
  });
  REQUIRE(input != instructions.end());
  const size_t at = input - instructions.begin();
  const plan::GraphIndex index(plan, graph);
  CHECK(!engine::FindInstructionsWithWork(index, 1)[at]);
  CHECK(!engine::FindInstructionsWithWork(index, 3)[at]);
  CHECK(engine::FindInstructionsWithWork(index, 4)[at]);
  CHECK(engine::FindInstructionsWithWork(index, engine::kNoDepth)[at]);
  // A lane that reads the extent behind the input may still read it when the next round is
  // submitted. Its last instruction, a signal, stands for that.
  plan::Graph reads = graph;
  const plan::Range lane = reads.programs[index.lane(at)];
  plan::Instruction& last = reads.instructions[lane.first() + lane.count() - 1];
  REQUIRE(last.kind() == plan::Kind::signal);
  last.mutate_kind(plan::Kind::call);
  CHECK(!engine::FindInstructionsWithWork(plan::GraphIndex(plan, reads), 1)[at]);
  CHECK(engine::FindInstructionsWithWork(plan::GraphIndex(plan, reads), 2)[at]);
}

// So no execution of another graph has to wait for this one's result on the caller's lane.
TEST_CASE("D11 a result whose extents inputs give lies where it belongs", "[immediate]") {
  Runner run(CGRAPH_SOURCE_DIR "/tests/conformance/inflight.cgraph");
  const plan::Plan& plan = run.engine().plan();
  const plan::Graph& graph = SizedGraph(plan);
  const std::vector<bool> has_work =
      engine::FindInstructionsWithWork(plan::GraphIndex(plan, graph), 1);
  size_t outputs = 0;
  for (size_t i = 0; i < has_work.size(); ++i) {
    if (graph.instructions[i].kind() != plan::Kind::output) continue;
    ++outputs;
    CHECK(!has_work[i]);
  }
  CHECK(outputs != 0);
}

TEST_CASE("D11 submission makes no extent in memory of another device", "[immediate]") {
  Runner run(CGRAPH_SOURCE_DIR "/tests/conformance/inflight.cgraph");
  const plan::Plan& plan = run.engine().plan();
  const plan::Graph& graph = SizedGraph(plan);
  plan::Plan moved;
  for (const auto& device : plan.devices) {
    moved.devices.push_back(std::make_unique<plan::Device>(*device));
    moved.devices.back()->kind = plan::DeviceKind::cpu;
  }
  moved.lanes = plan.lanes;
  size_t made = 0;
  for (uint32_t i = 0; i < graph.instructions.size(); ++i) {
    const plan::Instruction& at = graph.instructions[i];
    if (at.kind() != plan::Kind::input || at.outputs() == 1) continue;  // it makes no extent
    ++made;
    CHECK(!engine::FindInstructionsWithWork(plan::GraphIndex(plan, graph), 1)[i]);
    CHECK(engine::FindInstructionsWithWork(plan::GraphIndex(moved, graph), 1)[i]);
  }
  CHECK(made != 0);
}

}  // namespace
}  // namespace cgraph::testing
