// Captures and graphs of the emulated devices.
#include <cuda.h>

#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "tests/emulation/unit/gpu.h"

namespace cgraph::emulation {
namespace {

constexpr auto kRelaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
constexpr auto kThreadLocal = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
constexpr auto kGlobal = CU_STREAM_CAPTURE_MODE_GLOBAL;

// Ends the capture, which must not give a graph.
CUresult EndInVain(CUstream stream) {
  CUgraph graph = reinterpret_cast<CUgraph>(1);
  const CUresult ended = cuStreamEndCapture(stream, &graph);
  CHECK(graph == nullptr);
  return ended;
}

// Ends the capture and returns the graph, ready to be launched.
CUgraphExec EndAndInstantiate(CUstream stream) {
  CUgraph graph;
  CUgraphExec exec;
  CHECK_DONE(cuStreamEndCapture(stream, &graph));
  CHECK_DONE(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CHECK_DONE(cuGraphDestroy(graph));
  return exec;
}

}  // namespace

TEST_CASE("a graph does at each launch what was called once") {
  Gpu gpu;
  CUstream stream = gpu.Stream();
  const CUdeviceptr a = gpu.Words(8), b = gpu.Words(8);
  CHECK_DONE(gpu.Fill(stream, a, 8, 1, 1));
  CHECK_DONE(cuStreamSynchronize(stream));
  CHECK_DONE(cuStreamBeginCapture(stream, kThreadLocal));
  CHECK_DONE(gpu.Launch(stream, "emulation_add", 8, a, a, b, int64_t{8}));
  CHECK_DONE(cuMemcpyAsync(a, b, 64, stream));
  CUgraphExec exec = EndAndInstantiate(stream);
  CHECK(gpu.Read(stream, a, 8)[7] == 8);  // nothing has run yet
  CHECK_DONE(cuGraphUpload(exec, stream));
  for (int i = 0; i < 4; ++i) CHECK_DONE(cuGraphLaunch(exec, stream));
  CHECK(gpu.Read(stream, a, 8)[7] == 8 * 16);
  CHECK_DONE(cuGraphLaunch(exec, stream));
  CHECK_DONE(cuGraphExecDestroy(exec));  // the launch goes on
  CHECK(gpu.Read(stream, a, 8)[7] == 8 * 32);
}

// Returns the misuse of two threads that instantiate these graphs, again and again.
uint64_t MisuseOfThreads(Gpu& gpu, CUgraph first, CUgraph second) {
  Counted counted;
  const auto instantiate = [&](CUgraph graph) {
    cuCtxSetCurrent(gpu.context());
    for (int i = 0; i < 50; ++i) {
      CUgraphExec exec = nullptr;
      if (cuGraphInstantiateWithFlags(&exec, graph, 0) == CUDA_SUCCESS) cuGraphExecDestroy(exec);
    }
  };
  std::thread other(instantiate, second);
  instantiate(first);
  other.join();
  return Ask().misuse_count();
}

TEST_CASE("several threads instantiate graphs, but not the same one at once") {
  Gpu gpu;
  CUgraph graphs[2];
  for (CUgraph& graph : graphs) {
    CUstream stream = gpu.Stream();
    const CUdeviceptr words = gpu.Words(8);
    CHECK_DONE(cuStreamBeginCapture(stream, kThreadLocal));
    CHECK_DONE(gpu.Fill(stream, words, 8, 1, 1));
    CHECK_DONE(cuStreamEndCapture(stream, &graph));
  }
  CHECK(MisuseOfThreads(gpu, graphs[0], graphs[1]) == 0);
  CHECK(Ask().most_instantiating() == 2);
  CHECK(MisuseOfThreads(gpu, graphs[0], graphs[0]) > 0);
  for (CUgraph graph : graphs) CHECK_DONE(cuGraphDestroy(graph));
}

TEST_CASE("a capture goes over into other streams and comes back") {
  Gpu gpu;
  CUstream origin = gpu.Stream(), other = gpu.Stream();
  CUevent fork = gpu.Event(), join = gpu.Event();
  int64_t* const log = gpu.Pinned(2);
  const CUdeviceptr a = gpu.Words(8), b = gpu.Words(8), sum = gpu.Words(8);
  CHECK_DONE(cuStreamBeginCapture(origin, kGlobal));
  CHECK_DONE(gpu.Fill(origin, a, 8, 1, 0));
  CHECK_DONE(cuEventRecord(fork, origin));
  CHECK_DONE(cuStreamWaitEvent(other, fork, 0));
  CHECK_DONE(gpu.Launch(other, "emulation_add", 8, a, a, b, int64_t{8}));
  CHECK_DONE(cuStreamWriteValue64(origin, AddressOf(log), 1, 0));
  CHECK_DONE(cuEventRecord(join, other));
  CHECK_DONE(cuStreamWaitEvent(origin, join, 0));
  CHECK_DONE(gpu.Launch(origin, "emulation_add", 8, a, b, sum, int64_t{8}));
  CUgraphExec exec = EndAndInstantiate(origin);
  SeedsWith(10, [&] {
    CHECK_DONE(cuMemsetD8Async(sum, 0, 64, origin));
    CHECK_DONE(cuGraphLaunch(exec, origin));
    CHECK(gpu.Read(origin, sum, 8) == std::vector<int64_t>{0, 3, 6, 9, 12, 15, 18, 21});
    return true;
  });
  CHECK(log[0] == 1);
  CHECK_DONE(cuGraphExecDestroy(exec));
  // The streams are themselves again, and the events as good as new.
  CHECK_DONE(cuEventRecord(fork, other));
  CHECK_DONE(cuStreamWaitEvent(origin, fork, 0));
  CHECK_DONE(cuStreamSynchronize(origin));
}

TEST_CASE("nodes that do not depend on each other run in any order", "[races]") {
  Gpu gpu;
  CUstream origin = gpu.Stream(), other = gpu.Stream();
  CUevent fork = gpu.Event(), join = gpu.Event();
  const CUdeviceptr a = gpu.Words(8), b = gpu.Words(8);
  CHECK_DONE(cuStreamBeginCapture(origin, kRelaxed));
  CHECK_DONE(cuEventRecord(fork, origin));
  CHECK_DONE(cuStreamWaitEvent(other, fork, 0));
  CHECK_DONE(gpu.Fill(origin, a, 8, 1, 1));
  CHECK_DONE(cuMemcpyAsync(b, a, 64, other));  // waits for nothing
  CHECK_DONE(cuEventRecord(join, other));
  CHECK_DONE(cuStreamWaitEvent(origin, join, 0));
  CUgraphExec exec = EndAndInstantiate(origin);
  const int stale = SeedsWith(40, [&] {
    CHECK_DONE(cuMemsetD8Async(a, 0, 64, origin));
    CHECK_DONE(cuGraphLaunch(exec, origin));
    return gpu.Read(origin, b, 8)[7] == 0;
  });
  CHECK(stale > 0);
  CHECK(stale < 40);
  CHECK_DONE(cuGraphExecDestroy(exec));
}

TEST_CASE("launches of one graph run one after another, whatever their streams") {
  Gpu gpu;
  CUstream first = gpu.Stream(), second = gpu.Stream();
  int64_t* const words = gpu.Pinned(2);
  CHECK_DONE(cuStreamBeginCapture(first, kThreadLocal));
  CHECK_DONE(cuStreamWaitValue64(first, AddressOf(words), 1, 0));
  CUgraphExec exec = EndAndInstantiate(first);
  CHECK_DONE(cuGraphLaunch(exec, first));
  CHECK_DONE(cuGraphLaunch(exec, second));
  CHECK_DONE(cuStreamWriteValue64(second, AddressOf(words + 1), 1, 0));
  CHECK(cuStreamQuery(second) == CUDA_ERROR_NOT_READY);
  __atomic_store_n(words, 1, __ATOMIC_RELEASE);
  CHECK_DONE(cuStreamSynchronize(second));
  CHECK(cuStreamQuery(first) == CUDA_SUCCESS);
  CHECK_DONE(cuGraphExecDestroy(exec));
}

TEST_CASE("a capture goes over to another device") {
  Gpu first(0), second(1);
  first.Use();
  CUstream origin = first.Stream();
  CUevent fork = first.Event();
  const CUdeviceptr here = first.Words(8);
  second.Use();
  CUstream other = second.Stream();
  CUevent join = second.Event();
  const CUdeviceptr there = second.Words(8);
  first.Use();
  CHECK_DONE(cuStreamBeginCapture(origin, kRelaxed));
  CHECK_DONE(cuEventRecord(fork, origin));
  second.Use();
  CHECK_DONE(cuStreamWaitEvent(other, fork, 0));
  CHECK_DONE(second.Fill(other, there, 8, 2, 1));
  CHECK_DONE(cuEventRecord(join, other));
  first.Use();
  CHECK_DONE(cuStreamWaitEvent(origin, join, 0));
  CHECK_DONE(cuMemcpyAsync(here, there, 64, origin));
  CUgraphExec exec = EndAndInstantiate(origin);
  CHECK_DONE(cuGraphLaunch(exec, origin));
  CHECK(first.Read(origin, here, 8)[7] == 15);
  CHECK_DONE(cuGraphExecDestroy(exec));
}

TEST_CASE("a graph is not launched with memory that was freed") {
  Gpu gpu;
  CUstream stream = gpu.Stream();
  const CUdeviceptr words = gpu.Words(8);
  CHECK_DONE(cuStreamBeginCapture(stream, kRelaxed));
  CHECK_DONE(gpu.Fill(stream, words, 8, 1, 1));
  CUgraphExec exec = EndAndInstantiate(stream);
  CHECK_DONE(gpu.Free(words));
  Counted counted;
  CHECK(cuGraphLaunch(exec, stream) == CUDA_ERROR_INVALID_VALUE);
  CHECK_THAT(counted.Sentence(), Catch::Matchers::Contains("where memory was freed"));
  CHECK_DONE(cuGraphExecDestroy(exec));
}

TEST_CASE("an empty capture gives an empty graph") {
  Gpu gpu;
  CUstream stream = gpu.Stream();
  CHECK_DONE(cuStreamBeginCapture(stream, kThreadLocal));
  CUgraphExec exec = EndAndInstantiate(stream);
  CHECK_DONE(cuGraphLaunch(exec, stream));
  CHECK_DONE(cuStreamSynchronize(stream));
  CHECK_DONE(cuGraphExecDestroy(exec));
}

TEST_CASE("a capture ends where it began, with everything joined") {
  Gpu gpu;
  CUstream origin = gpu.Stream(), other = gpu.Stream();
  CUevent fork = gpu.Event();
  const CUdeviceptr a = gpu.Words(8);
  CUgraph graph;
  CHECK(cuStreamEndCapture(origin, &graph) == CUDA_ERROR_ILLEGAL_STATE);
  CHECK(cuStreamBeginCapture(nullptr, kRelaxed) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CHECK_DONE(cuStreamBeginCapture(origin, kRelaxed));
  CHECK(cuStreamBeginCapture(origin, kRelaxed) == CUDA_ERROR_ILLEGAL_STATE);
  CHECK_DONE(cuEventRecord(fork, origin));
  CHECK_DONE(cuStreamWaitEvent(other, fork, 0));
  CHECK_DONE(gpu.Fill(other, a, 8, 1, 1));
  CHECK(EndInVain(origin) == CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  CHECK_DONE(cuStreamBeginCapture(origin, kRelaxed));
  CHECK_DONE(cuEventRecord(fork, origin));
  CHECK_DONE(cuStreamWaitEvent(other, fork, 0));
  CHECK(EndInVain(other) == CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  CHECK(EndInVain(origin) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CHECK_DONE(cuStreamBeginCapture(origin, kThreadLocal));
  std::thread([&] {
    CHECK_DONE(cuCtxSetCurrent(gpu.context()));
    CHECK(EndInVain(origin) == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  }).join();
  CHECK_DONE(cuStreamEndCapture(origin, &graph));
  CHECK_DONE(cuGraphDestroy(graph));
}

TEST_CASE("captures do not mix, and do not wait for what is outside of them") {
  Gpu gpu;
  CUstream first = gpu.Stream(), second = gpu.Stream();
  CUevent outside = gpu.Event(), inside = gpu.Event();
  CHECK_DONE(cuEventRecord(outside, first));
  CHECK_DONE(cuStreamBeginCapture(first, kRelaxed));
  CHECK(cuStreamWaitEvent(first, outside, 0) == CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  CHECK(EndInVain(first) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CHECK_DONE(cuStreamBeginCapture(first, kRelaxed));
  CHECK_DONE(cuStreamBeginCapture(second, kRelaxed));
  CHECK_DONE(cuEventRecord(inside, first));
  CHECK(cuStreamWaitEvent(second, inside, 0) == CUDA_ERROR_STREAM_CAPTURE_MERGE);
  CHECK(EndInVain(first) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CHECK(EndInVain(second) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CHECK(cuStreamWaitEvent(second, inside, 0) == CUDA_ERROR_CAPTURED_EVENT);
  CHECK(cuEventQuery(inside) == CUDA_ERROR_CAPTURED_EVENT);
}

TEST_CASE("nobody asks about a stream that is captured") {
  Gpu gpu;
  CUstream stream = gpu.Stream();
  CUevent event = gpu.Event();
  for (const bool wait : {false, true}) {
    CHECK_DONE(cuStreamBeginCapture(stream, kRelaxed));
    CHECK((wait ? cuStreamSynchronize(stream) : cuStreamQuery(stream)) ==
          CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CHECK(cuEventRecord(event, stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(EndInVain(stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  }
  CHECK_DONE(cuStreamBeginCapture(stream, kRelaxed));
  CHECK_DONE(cuEventRecord(event, stream));
  CHECK(cuEventQuery(event) == CUDA_ERROR_CAPTURED_EVENT);
  CHECK(EndInVain(stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_CASE("the mode of a capture says who may allocate meanwhile") {
  Gpu gpu;
  CUstream stream = gpu.Stream();
  const auto allocate = [&] {
    CUdeviceptr memory = 0;
    cuCtxSetCurrent(gpu.context());
    const CUresult result = cuMemAlloc(&memory, 8);
    if (memory != 0) cuMemFree(memory);
    return result;
  };
  const auto try_both = [&](CUstreamCaptureMode mode, bool own, bool other) {
    CUgraph graph;
    CUresult there = CUDA_SUCCESS;
    CHECK_DONE(cuStreamBeginCapture(stream, mode));
    std::thread([&] { there = allocate(); }).join();
    CHECK((there == CUDA_SUCCESS) == other);
    CHECK((allocate() == CUDA_SUCCESS) == own);
    const CUresult ended = cuStreamEndCapture(stream, &graph);
    CHECK((ended == CUDA_SUCCESS) == (own && other));
    if (graph != nullptr) CHECK_DONE(cuGraphDestroy(graph));
  };
  try_both(kRelaxed, true, true);
  try_both(kThreadLocal, false, true);
  try_both(kGlobal, false, false);
}

}  // namespace cgraph::emulation
