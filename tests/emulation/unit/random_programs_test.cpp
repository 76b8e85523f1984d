// Random programs of several streams on two devices. Where every dependence between streams has its
// wait, every seed gives what the operations give one after another; where one wait is left out,
// some seed gives something else.
#include <cuda.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <optional>
#include <random>
#include <vector>

#include "tests/emulation/unit/gpu.h"

namespace cgraph::emulation {
namespace {

constexpr size_t kWords = 8;  // of a buffer
constexpr size_t kBuffers = 6;
constexpr size_t kStreams = 4;  // the odd ones are of the second device

enum class Action { kFill, kAdd, kCopy };
enum class Order { kEvent, kWord };  // how one stream tells another

struct Operation {
  Action action = Action::kFill;
  size_t stream = 0;
  std::vector<size_t> reads;  // buffers
  size_t write = 0;
  int64_t number = 0;
  std::vector<size_t> waits;  // for operations of other streams
};
using Buffers = std::array<std::array<int64_t, kWords>, kBuffers>;

// Adds the waits for what wrote or read the operation's buffers before, on other streams.
void AddWaits(std::vector<Operation>& program, Operation& operation) {
  const auto touches = [](const Operation& other, size_t buffer) {
    if (other.write == buffer) return true;
    return std::find(other.reads.begin(), other.reads.end(), buffer) != other.reads.end();
  };
  std::array<std::optional<size_t>, kStreams> last;
  for (size_t i = 0; i < program.size(); ++i) {
    bool conflict = touches(program[i], operation.write);
    for (const size_t buffer : operation.reads) conflict |= program[i].write == buffer;
    if (conflict && program[i].stream != operation.stream) last[program[i].stream] = i;
  }
  for (const auto& other : last) {
    if (other) operation.waits.push_back(*other);
  }
}

std::vector<Operation> MakeProgram(std::mt19937_64& random, size_t count) {
  std::vector<Operation> program;
  for (size_t i = 0; i < count; ++i) {
    Operation operation;
    operation.stream = random() % kStreams;
    operation.write = i < kBuffers ? i : random() % kBuffers;
    operation.number = static_cast<int64_t>(random() % 1000);
    if (i >= kBuffers) operation.action = static_cast<Action>(random() % 3);
    const size_t reads = operation.action == Action::kAdd    ? 2
                         : operation.action == Action::kCopy ? 1
                                                             : 0;
    for (size_t k = 0; k < reads; ++k) operation.reads.push_back(random() % kBuffers);
    AddWaits(program, operation);
    program.push_back(std::move(operation));
  }
  return program;
}

void RunOn(Buffers& buffers, const Operation& operation) {
  for (size_t i = 0; i < kWords; ++i) {
    int64_t& to = buffers[operation.write][i];
    if (operation.action == Action::kFill) {
      to = static_cast<int64_t>(i) + operation.number;
    } else {
      const int64_t first = buffers[operation.reads[0]][i];
      to = operation.action == Action::kCopy ? first : first + buffers[operation.reads[1]][i];
    }
  }
}

Buffers RunInOrder(const std::vector<Operation>& program) {
  Buffers buffers{};
  for (const Operation& operation : program) RunOn(buffers, operation);
  return buffers;
}

// Runs the program in some order that its streams and waits allow.
Buffers RunInSomeOrder(const std::vector<Operation>& program, std::mt19937_64& random) {
  Buffers buffers{};
  std::vector<bool> done(program.size());
  std::array<uint64_t, kStreams> priorities;
  for (uint64_t& priority : priorities) priority = random();
  for (size_t count = 0; count < program.size(); ++count) {
    std::array<bool, kStreams> passed{};  // streams whose next operation is behind
    std::optional<size_t> best;
    for (size_t i = 0; i < program.size(); ++i) {
      if (done[i] || passed[program[i].stream]) continue;
      passed[program[i].stream] = true;
      const auto& waits = program[i].waits;
      const bool ready = std::all_of(waits.begin(), waits.end(), [&](size_t k) { return done[k]; });
      if (ready && (!best || priorities[program[i].stream] > priorities[program[*best].stream])) {
        best = i;
      }
    }
    done[*best] = true;
    RunOn(buffers, program[*best]);
    if (random() % 4 == 0) priorities[program[*best].stream] = random();
  }
  return buffers;
}

// Returns the program without one wait.
std::vector<Operation> Without(std::vector<Operation> program, size_t operation, size_t wait) {
  auto& waits = program[operation].waits;
  waits.erase(waits.begin() + static_cast<ptrdiff_t>(wait));
  return program;
}

// Two devices that reach each other, their streams, and buffers that lie on both in turn.
class Trial {
 public:
  Trial() {
    first_.Use();
    CHECK_DONE(cuCtxEnablePeerAccess(second_.context(), 0));
    second_.Use();
    CHECK_DONE(cuCtxEnablePeerAccess(first_.context(), 0));
    for (size_t i = 0; i < kStreams; ++i) streams_[i] = Use(i).Stream();
    for (size_t i = 0; i < kBuffers; ++i) buffers_[i] = Use(i).Words(kWords);
    done_ = first_.Pinned(kStreams);
  }

  // `captured`: as a graph, that begins and ends on the first stream.
  Buffers Run(const std::vector<Operation>& program, Order order, bool captured) {
    for (size_t i = 0; i < kStreams; ++i) done_[i] = 0;
    if (captured) Fork();
    std::vector<CUevent> events(program.size());
    for (size_t i = 0; i < program.size(); ++i) {
      for (const size_t other : program[i].waits) {
        Wait(program, order, program[i].stream, other, events[other]);
      }
      Issue(program[i]);
      Tell(order, program[i].stream, i, events[i]);
    }
    if (captured) JoinAndLaunch();
    Buffers results = Read();
    for (size_t i = 0; i < program.size(); ++i) {
      if (events[i] != nullptr) CHECK_DONE(cuEventDestroy(events[i]));
    }
    return results;
  }

 private:
  Gpu& Use(size_t number) {
    Gpu& gpu = number % 2 == 0 ? first_ : second_;
    gpu.Use();
    return gpu;
  }

  void Issue(const Operation& operation) {
    Gpu& gpu = Use(operation.stream);
    CUstream stream = streams_[operation.stream];
    const CUdeviceptr to = buffers_[operation.write];
    if (operation.action == Action::kFill) {
      CHECK_DONE(gpu.Fill(stream, to, kWords, 1, operation.number));
    } else if (operation.action == Action::kCopy) {
      CHECK_DONE(cuMemcpyAsync(to, buffers_[operation.reads[0]], kWords * 8, stream));
    } else {
      CHECK_DONE(gpu.Launch(stream, "emulation_add", kWords, buffers_[operation.reads[0]],
                            buffers_[operation.reads[1]], to, int64_t{kWords}));
    }
  }

  void Tell(Order order, size_t stream, size_t operation, CUevent& event) {
    Use(stream);
    if (order == Order::kWord) {
      CHECK_DONE(cuStreamWriteValue64(streams_[stream], AddressOf(done_ + stream), operation + 1,
                                      0));
      return;
    }
    CHECK_DONE(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CHECK_DONE(cuEventRecord(event, streams_[stream]));
  }

  void Wait(const std::vector<Operation>& program, Order order, size_t stream, size_t other,
            CUevent event) {
    Use(stream);
    if (order == Order::kEvent) {
      CHECK_DONE(cuStreamWaitEvent(streams_[stream], event, 0));
    } else {
      CHECK_DONE(cuStreamWaitValue64(streams_[stream],
                                     AddressOf(done_ + program[other].stream), other + 1,
                                     CU_STREAM_WAIT_VALUE_GEQ));
    }
  }

  void Fork() {
    Use(0);
    CUevent event = first_.Event();
    CHECK_DONE(cuStreamBeginCapture(streams_[0], CU_STREAM_CAPTURE_MODE_RELAXED));
    CHECK_DONE(cuEventRecord(event, streams_[0]));
    for (size_t i = 1; i < kStreams; ++i) CHECK_DONE(cuStreamWaitEvent(streams_[i], event, 0));
  }

  void JoinAndLaunch() {
    for (size_t i = 1; i < kStreams; ++i) {
      CUevent event = Use(i).Event();
      CHECK_DONE(cuEventRecord(event, streams_[i]));
      CHECK_DONE(cuStreamWaitEvent(streams_[0], event, 0));
    }
    Use(0);
    CUgraph graph;
    CUgraphExec exec;
    CHECK_DONE(cuStreamEndCapture(streams_[0], &graph));
    CHECK_DONE(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK_DONE(cuGraphLaunch(exec, streams_[0]));
    CHECK_DONE(cuGraphExecDestroy(exec));
    CHECK_DONE(cuGraphDestroy(graph));
  }

  Buffers Read() {
    for (size_t i = 0; i < kStreams; ++i) {
      Use(i);
      CHECK_DONE(cuStreamSynchronize(streams_[i]));
    }
    Buffers results;
    for (size_t i = 0; i < kBuffers; ++i) {
      Use(i);
      CHECK_DONE(cuMemcpyDtoH(results[i].data(), buffers_[i], kWords * 8));
    }
    return results;
  }

  Gpu first_{0}, second_{1};
  std::array<CUstream, kStreams> streams_{};
  std::array<CUdeviceptr, kBuffers> buffers_{};
  int64_t* done_ = nullptr;
};

}  // namespace

TEST_CASE("programs with all their waits give the same for every seed") {
  for (const bool captured : {false, true}) {
    for (const Order order : {Order::kEvent, Order::kWord}) {
      Trial trial;
      SeedsWith(30, [&] {
        std::mt19937_64 random(Ask().calls());
        const auto program = MakeProgram(random, 30);
        const bool right = trial.Run(program, order, captured) == RunInOrder(program);
        CHECK(right);
        return right;
      });
    }
  }
}

// Most waits are implied by others, or order what nobody reads later: only those count for which
// orders exist that make a difference.
TEST_CASE("a wait that is left out is found by some seed", "[races]") {
  Trial trial;
  std::mt19937_64 random(5);
  int needed = 0, found = 0;
  for (int i = 0; i < 15; ++i) {
    const auto program = MakeProgram(random, 12);
    const Buffers expected = RunInOrder(program);
    for (size_t k = 0; k < program.size(); ++k) {
      if (program[k].waits.empty()) continue;
      const auto mutant = Without(program, k, random() % program[k].waits.size());
      bool differs = false;
      for (int order = 0; order < 300; ++order) {
        differs |= RunInSomeOrder(mutant, random) != expected;
      }
      if (!differs) continue;
      ++needed;
      found += SeedsWith(30, [&] {
        return trial.Run(mutant, Order::kEvent, i % 2 == 0) != expected;
      }) > 0;
    }
  }
  INFO(needed << " waits left out that matter, " << found << " found");
  CHECK(needed > 30);
  CHECK(found * 2 > needed);
}

}  // namespace cgraph::emulation
