// Streams and events of the emulated devices: what is in order, what is not, and what waits.
#include <cuda.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <thread>
#include <vector>

#include "tests/emulation/unit/gpu.h"

namespace cgraph::emulation {
namespace {

using Catch::Matchers::Contains;

}  // namespace

TEST_CASE("a kernel has not always run when its launch returns") {
  Gpu gpu;
  CUstream stream = gpu.Stream();
  int64_t* const word = gpu.Pinned(1);
  const int late = SeedsWith(100, [&] {
    const CUdeviceptr memory = gpu.Words(1000);
    CHECK_DONE(gpu.Fill(stream, memory, 1000, 1, 1));
    const bool ready = cuStreamQuery(stream) == CUDA_SUCCESS;
    CHECK_DONE(cuStreamSynchronize(stream));
    CHECK(cuStreamQuery(stream) == CUDA_SUCCESS);
    CHECK_DONE(cuStreamWriteValue64(stream, AddressOf(word), 1, 0));
    CHECK_DONE(cuStreamSynchronize(stream));
    return !ready;
  });
  CHECK(late > 0);
}

TEST_CASE("a stream keeps its order") {
  Gpu gpu;
  CUstream stream = gpu.Stream();
  const CUdeviceptr a = gpu.Words(40), b = gpu.Words(40);
  SeedsWith(20, [&] {
    CHECK_DONE(gpu.Fill(stream, a, 40, 1, 0));
    for (int i = 0; i < 6; ++i) {
      CHECK_DONE(gpu.Launch(stream, "emulation_add", 40, a, a, b, int64_t{40}));
      CHECK_DONE(cuMemcpyAsync(a, b, 40 * 8, stream));
    }
    const auto words = gpu.Read(stream, a, 40);
    CHECK(words[39] == 39 * 64);
    return true;
  });
}

TEST_CASE("an event orders streams, and a wait that is missing shows for some seed", "[races]") {
  Gpu gpu;
  CUstream first = gpu.Stream(), second = gpu.Stream();
  CUevent event = gpu.Event();
  const auto wrong = [&](bool wait) {
    return SeedsWith(60, [&] {
      const CUdeviceptr from = gpu.Words(8), to = gpu.Words(8);
      CHECK_DONE(gpu.Fill(first, from, 8, 1, 1));
      CHECK_DONE(cuEventRecord(event, first));
      if (wait) CHECK_DONE(cuStreamWaitEvent(second, event, 0));
      CHECK_DONE(cuMemcpyAsync(to, from, 64, second));
      const bool stale = gpu.Read(second, to, 8)[7] != 8;
      CHECK_DONE(cuStreamSynchronize(first));
      return stale;
    });
  };
  CHECK(wrong(true) == 0);
  CHECK(wrong(false) > 0);
}

TEST_CASE("a wait is for the record before it, and not for those after it") {
  Gpu gpu;
  CUstream first = gpu.Stream(), second = gpu.Stream();
  CUevent event = gpu.Event();
  int64_t* const gate = gpu.Pinned(1);
  CHECK_DONE(cuEventRecord(event, first));
  CHECK_DONE(cuStreamWaitEvent(second, event, 0));
  CHECK_DONE(cuStreamWaitValue64(first, AddressOf(gate), 1, 0));
  CHECK_DONE(cuEventRecord(event, first));
  CHECK_DONE(cuStreamSynchronize(second));
  CHECK(cuEventQuery(event) == CUDA_ERROR_NOT_READY);
  __atomic_store_n(gate, 1, __ATOMIC_RELEASE);
  CHECK_DONE(cuEventSynchronize(event));
  CHECK(cuEventQuery(event) == CUDA_SUCCESS);
  CHECK_DONE(cuStreamSynchronize(first));
}

TEST_CASE("waiting for an event that was never recorded is a misuse") {
  Gpu gpu;
  Counted counted;
  CHECK_DONE(cuStreamWaitEvent(gpu.Stream(), gpu.Event(), 0));
  CHECK(counted.Sentence() == "a stream waits for an event that was never recorded");
}

TEST_CASE("events with timing measure, others do not") {
  Gpu gpu;
  CUstream stream = gpu.Stream();
  int64_t* const gate = gpu.Pinned(1);
  CUevent start = gpu.Event(0), end = gpu.Event(0), plain = gpu.Event();
  float milliseconds = -1;
  CHECK(cuEventElapsedTime(&milliseconds, start, end) == CUDA_ERROR_INVALID_HANDLE);
  CHECK_DONE(cuEventRecord(start, stream));
  CHECK_DONE(cuEventRecord(plain, stream));
  CHECK_DONE(cuStreamWaitValue64(stream, AddressOf(gate), 1, 0));
  CHECK_DONE(cuEventRecord(end, stream));
  CHECK(cuEventElapsedTime(&milliseconds, start, end) == CUDA_ERROR_NOT_READY);
  __atomic_store_n(gate, 1, __ATOMIC_RELEASE);
  CHECK_DONE(cuStreamSynchronize(stream));
  CHECK_DONE(cuEventElapsedTime(&milliseconds, start, end));
  CHECK(milliseconds >= 0);
  CHECK(cuEventElapsedTime(&milliseconds, start, plain) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("streams wait for words that streams and the host write") {
  Gpu first(0), second(1);
  int64_t* const words = first.Pinned(2);
  second.Use();
  CUstream there = second.Stream();
  const CUdeviceptr memory = second.Words(4);
  CHECK_DONE(cuStreamWaitValue64(there, AddressOf(words), 3, CU_STREAM_WAIT_VALUE_GEQ));
  CHECK_DONE(second.Fill(there, memory, 4, 2, 0));
  CHECK_DONE(cuStreamWriteValue64(there, AddressOf(words + 1), 8, 0));
  first.Use();
  CUstream here = first.Stream();
  CHECK_DONE(cuStreamWriteValue64(here, AddressOf(words), 2, 0));
  CHECK_DONE(cuStreamWaitValue64(here, AddressOf(words + 1), 7, CU_STREAM_WAIT_VALUE_GEQ));
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  CHECK(cuStreamQuery(here) == CUDA_ERROR_NOT_READY);
  CHECK(__atomic_load_n(words + 1, __ATOMIC_ACQUIRE) == 0);
  __atomic_store_n(words, 4, __ATOMIC_RELEASE);
  CHECK_DONE(cuStreamSynchronize(here));
  CHECK(__atomic_load_n(words + 1, __ATOMIC_ACQUIRE) == 8);
  second.Use();
  CHECK(second.Read(there, memory, 4) == std::vector<int64_t>{0, 2, 4, 6});
}

TEST_CASE("comparisons of waited values") {
  Gpu gpu;
  CUstream stream = gpu.Stream();
  int64_t* const word = gpu.Pinned(1);
  const CUdeviceptr on_device = gpu.Words(1);
  const auto passes = [&](int64_t value, uint64_t wanted, unsigned comparison) {
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
    CHECK_DONE(cuMemcpyAsync(on_device, AddressOf(word), 8, stream));
    CHECK_DONE(cuStreamWaitValue64(stream, on_device, wanted, comparison));
    CHECK_DONE(cuStreamSynchronize(stream));
  };
  passes(5, 5, CU_STREAM_WAIT_VALUE_GEQ);
  passes(2, static_cast<uint64_t>(-3), CU_STREAM_WAIT_VALUE_GEQ);  // numbers wrap around
  passes(5, 5, CU_STREAM_WAIT_VALUE_EQ);
  passes(6, 3, CU_STREAM_WAIT_VALUE_AND);
  passes(6, 3, CU_STREAM_WAIT_VALUE_NOR);
  CHECK(cuStreamWaitValue64(stream, on_device, 1, 9) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuStreamWaitValue64(stream, on_device + 4, 1, 0) == CUDA_ERROR_INVALID_VALUE);
  Counted counted;
  int64_t pageable = 0;
  CHECK(cuStreamWriteValue64(stream, AddressOf(&pageable), 1, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK_THAT(counted.Sentence(), Contains("which is pageable memory"));
}

TEST_CASE("work goes on when its stream and event are destroyed") {
  Gpu gpu;
  int64_t* const word = gpu.Pinned(2);
  CUstream stream;
  CUevent event;
  CHECK_DONE(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
  CHECK_DONE(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  CHECK_DONE(cuStreamWaitValue64(stream, AddressOf(word), 1, 0));
  CHECK_DONE(cuEventRecord(event, stream));
  CUstream other = gpu.Stream();
  CHECK_DONE(cuStreamWaitEvent(other, event, 0));
  CHECK_DONE(cuStreamWriteValue64(other, AddressOf(word + 1), 1, 0));
  CHECK_DONE(cuEventDestroy(event));
  CHECK_DONE(cuStreamDestroy(stream));
  Counted counted;
  CHECK(cuStreamQuery(stream) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(counted.Sentence() == "a stream was destroyed, or never made");
  CHECK(cuEventQuery(event) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(counted.Sentence() == "an event was destroyed, or never made");
  __atomic_store_n(word, 1, __ATOMIC_RELEASE);
  CHECK_DONE(cuStreamSynchronize(other));
  CHECK(__atomic_load_n(word + 1, __ATOMIC_ACQUIRE) == 1);
}

TEST_CASE("the device goes on while the program makes no calls", "[threads]") {
  Gpu gpu;
  CUstream stream = gpu.Stream();
  int64_t* const words = gpu.Pinned(2);
  SeedsWith(20, [&] {
    __atomic_store_n(words, 0, __ATOMIC_RELEASE);
    CHECK_DONE(cuStreamWaitValue64(stream, AddressOf(words), 1, 0));
    CHECK_DONE(cuStreamWriteValue64(stream, AddressOf(words + 1), 1, 0));
    __atomic_store_n(words, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(words + 1, __ATOMIC_ACQUIRE) != 1) std::this_thread::yield();
    __atomic_store_n(words + 1, 0, __ATOMIC_RELEASE);
    return true;
  });
}

TEST_CASE("without a thread of its own, nothing moves but in calls", "[calls]") {
  Gpu gpu;
  CUstream stream = gpu.Stream();
  int64_t* const word = gpu.Pinned(1);
  const int late = SeedsWith(50, [&] {
    __atomic_store_n(word, 0, __ATOMIC_RELEASE);
    CHECK_DONE(cuStreamWriteValue64(stream, AddressOf(word), 1, 0));
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    const bool done = __atomic_load_n(word, __ATOMIC_ACQUIRE) == 1;
    while (cuStreamQuery(stream) == CUDA_ERROR_NOT_READY) {
    }
    CHECK(__atomic_load_n(word, __ATOMIC_ACQUIRE) == 1);
    return !done;
  });
  CHECK(late > 25);
}

TEST_CASE("streams that share a channel keep the order of issue", "[.channels]") {
  Gpu gpu;
  CUstream first = gpu.Stream(), second = gpu.Stream();
  int64_t* const words = gpu.Pinned(2);
  CHECK_DONE(cuStreamWaitValue64(first, AddressOf(words), 1, 0));
  CHECK_DONE(cuStreamWriteValue64(second, AddressOf(words), 1, 0));
  for (int i = 0; i < 200; ++i) CHECK(cuStreamQuery(second) == CUDA_ERROR_NOT_READY);
  __atomic_store_n(words, 1, __ATOMIC_RELEASE);
  CHECK_DONE(cuStreamSynchronize(second));
}

TEST_CASE("the first launch of a kernel that is not loaded waits for all work of the device") {
  Gpu gpu;
  CUmodule module;
  CUfunction fill;
  const uint32_t image[4] = {0xba55ed50};
  CHECK_DONE(cuModuleLoadData(&module, image));
  CHECK_DONE(cuModuleGetFunction(&fill, module, "emulation_fill"));
  CUstream waits = gpu.Stream(), works = gpu.Stream();
  const CUdeviceptr words = gpu.Words(1);
  int64_t* const word = gpu.Pinned(1);
  const bool loads = GENERATE(true, false);
  if (loads) CHECK_DONE(cuFuncLoad(fill));
  CHECK_DONE(cuStreamWaitValue64(waits, AddressOf(word), 1, 0));
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    __atomic_store_n(word, 1, __ATOMIC_RELEASE);
  });
  CHECK_DONE(gpu.LaunchFunction(works, fill, 1, words, int64_t{1}, int64_t{0}, int64_t{5}));
  CHECK((__atomic_load_n(word, __ATOMIC_ACQUIRE) == 1) == !loads);
  writer.join();
  CHECK(gpu.Read(works, words, 1)[0] == 5);
  CHECK_DONE(cuModuleUnload(module));
}

TEST_CASE("a kernel that is loaded in the steady state is a misuse") {
  Gpu gpu;
  CUmodule module;
  CUfunction fill;
  const uint32_t image[4] = {0xba55ed50};
  CHECK_DONE(cuModuleLoadData(&module, image));
  CHECK_DONE(cuModuleGetFunction(&fill, module, "emulation_fill"));
  CUstream stream = gpu.Stream();
  const CUdeviceptr words = gpu.Words(1);
  Counted counted;
  Ask().begin_steady_state();
  CHECK_DONE(gpu.LaunchFunction(stream, fill, 1, words, int64_t{1}, int64_t{0}, int64_t{5}));
  Ask().end_steady_state();
  CHECK(counted.Sentence() == "the kernel emulation_fill is loaded in the steady state");
  CHECK_DONE(cuStreamSynchronize(stream));
  CHECK_DONE(cuModuleUnload(module));
}

TEST_CASE("what waits for too long is said on stderr", "[.stuck]") {
  Gpu gpu;
  CUstream stream = gpu.Stream();
  int64_t* const word = gpu.Pinned(1);
  CHECK_DONE(cuStreamWaitValue64(stream, AddressOf(word), 1, 0));
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  __atomic_store_n(word, 1, __ATOMIC_RELEASE);
}

// What its kernel is at work on stays: nothing of it is destroyed.
TEST_CASE("a grid that never ends keeps its stream, and nobody may wait for it", "[.endless]") {
  Gpu& gpu = *new Gpu;
  CUstream stream = gpu.Stream();
  const CUdeviceptr words = gpu.Words(8);
  CHECK_DONE(gpu.Fill(stream, words, 8, 0, 1));
  CHECK_DONE(cuStreamSynchronize(stream));
  CHECK_DONE(gpu.Fill(stream, words, 8, 0, 2));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  CHECK(cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
  Counted counted;
  CHECK(cuMemFree(gpu.Words(1)) == CUDA_ERROR_UNKNOWN);
  CHECK(counted.Sentence() == "cuMemFree waits for the kernel emulation_fill, which never ends");
  CHECK(cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
}

TEST_CASE("several threads issue and wait at the same time") {
  Gpu gpu;
  std::vector<CUstream> streams;
  std::vector<CUdeviceptr> memories;
  for (int i = 0; i < 3; ++i) {
    streams.push_back(gpu.Stream());
    memories.push_back(gpu.Words(64));
  }
  std::vector<std::thread> threads;
  std::vector<int> right(3);
  for (size_t i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      cuCtxSetCurrent(gpu.context());
      CUfunction fill;
      cuModuleGetFunction(&fill, gpu.module(), "emulation_fill");
      for (int64_t turn = 0; turn < 20; ++turn) {
        gpu.LaunchFunction(streams[i], fill, 64, memories[i], int64_t{64}, turn, int64_t{1});
        int64_t last = 0;
        cuStreamSynchronize(streams[i]);
        cuMemcpyDtoH(&last, memories[i] + 63 * 8, 8);
        right[i] += last == 63 * turn + 1 ? 1 : 0;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(right == std::vector<int>(3, 20));
}

}  // namespace cgraph::emulation
