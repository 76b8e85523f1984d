// Memory of the emulated devices: allocations, copies, fills, and who may touch what.
#include <cuda.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "tests/emulation/death.h"
#include "tests/emulation/unit/gpu.h"

namespace cgraph::emulation {
namespace {

using Catch::Matchers::Contains;

constexpr auto kGarbage = static_cast<int64_t>(0xcdcdcdcdcdcdcdcd);

}  // namespace

TEST_CASE("fresh memory is full of garbage, and aligned to 256 bytes and no more") {
  Gpu gpu;
  CUstream stream = gpu.Stream();
  const CUdeviceptr words = gpu.Words(3);
  CHECK(words % 256 == 0);
  CHECK(words % 4096 != 0);
  CHECK(gpu.Read(stream, words, 3) == std::vector<int64_t>(3, kGarbage));
  void* pinned;
  CHECK_DONE(cuMemHostAlloc(&pinned, 8, 0));
  CHECK(*static_cast<int64_t*>(pinned) == kGarbage);
  CHECK_DONE(cuMemFreeHost(pinned));
}

TEST_CASE("a device's memory has a limit") {
  Gpu gpu;
  size_t before, total, free;
  CHECK_DONE(cuMemGetInfo(&before, &total));
  CHECK(total == size_t{64} << 20);  // as CGRAPH_EMULATION says
  CHECK(before == total);
  CUdeviceptr memory, more;
  CHECK_DONE(cuMemAlloc(&memory, (size_t{40} << 20) + 1));
  CHECK_DONE(cuMemGetInfo(&free, &total));
  CHECK(free == before - (size_t{40} << 20) - 256);
  CHECK(cuMemAlloc(&more, size_t{24} << 20) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(cuMemAlloc(&more, size_t{1} << 60) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(cuMemAlloc(&more, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK_DONE(cuMemFree(memory));
  CHECK_DONE(cuMemAlloc(&more, size_t{64} << 20));
  CHECK(more != memory);
  CHECK_DONE(cuMemFree(more));
}

TEST_CASE("pointers know what they point to") {
  Gpu gpu(1);
  const CUdeviceptr words = gpu.Words(4);
  int64_t* const pinned = gpu.Pinned(4);
  const auto pinned_address = reinterpret_cast<CUdeviceptr>(pinned);
  const auto type_of = [](CUdeviceptr address) {
    CUmemorytype type{};
    const CUresult found =
        cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
    return found == CUDA_SUCCESS ? static_cast<int>(type) : -1;
  };
  CHECK(type_of(words + 31) == CU_MEMORYTYPE_DEVICE);
  CHECK(type_of(words + 32) == -1);
  CHECK(type_of(pinned_address + 8) == CU_MEMORYTYPE_HOST);
  int64_t pageable = 0;
  CHECK(type_of(reinterpret_cast<CUdeviceptr>(&pageable)) == -1);
  int device = 7;
  CHECK_DONE(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, words));
  CHECK(device == 1);
  CUdeviceptr start = 0;
  size_t size = 0;
  CHECK_DONE(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, words + 9));
  CHECK_DONE(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, words + 9));
  CHECK(start == words);
  CHECK(size == 32);
}

TEST_CASE("what was freed, and what is beyond the end, is a misuse of copies and fills") {
  Gpu gpu;
  Counted counted;
  CUstream stream = gpu.Stream();
  const CUdeviceptr words = gpu.Words(4), others = gpu.Words(4);
  CHECK(cuMemcpyAsync(words, others + 8, 32, stream) == CUDA_ERROR_INVALID_VALUE);
  CHECK_THAT(counted.Sentence(), Contains("a copy of 32 bytes works on 32 bytes at"));
  CHECK(cuMemsetD8Async(words, 0, 33, stream) == CUDA_ERROR_INVALID_VALUE);
  CHECK_THAT(counted.Sentence(), Contains("where an allocation has 32 more"));
  CHECK_DONE(gpu.Free(others));
  CHECK(cuMemcpyAsync(others, words, 8, stream) == CUDA_ERROR_INVALID_VALUE);
  CHECK_THAT(counted.Sentence(), Contains("where memory was freed"));
  CHECK(gpu.Fill(stream, others, 4, 1, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK_THAT(counted.Sentence(), Contains("the kernel emulation_fill is given the address"));
  CHECK(cuMemFree(others) == CUDA_ERROR_INVALID_VALUE);
  CHECK_THAT(counted.Sentence(), Contains("is freed a second time"));
  CHECK(cuMemFree(words + 8) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyHtoD(reinterpret_cast<CUdeviceptr>(&counted), &counted, 1) ==
        CUDA_ERROR_INVALID_VALUE);
  CHECK(Ask().misuse_count() == 0);
}

TEST_CASE("kernels are not given pageable memory") {
  Gpu gpu;
  Counted counted;
  CUstream stream = gpu.Stream();
  int64_t word = 0;
  CHECK(gpu.Fill(stream, AddressOf(&word), 1, 1, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK_THAT(counted.Sentence(), Contains("in pageable memory of the host"));
  int64_t* const pinned = gpu.Pinned(1);
  CHECK_DONE(gpu.Fill(stream, AddressOf(pinned), 1, 1, 1));
  CHECK_DONE(cuStreamSynchronize(stream));
  CHECK(pinned[0] == 1);
}

TEST_CASE("memory is not freed while work on it is not done") {
  Gpu gpu;
  Counted counted;
  CUstream stream = gpu.Stream();
  int64_t* const gate = gpu.Pinned(1);
  const CUdeviceptr words = gpu.Words(4);
  CHECK_DONE(cuStreamWaitValue64(stream, reinterpret_cast<CUdeviceptr>(gate), 1, 0));
  CHECK_DONE(gpu.Fill(stream, words, 4, 1, 1));
  CHECK(cuMemFree(words) == CUDA_ERROR_INVALID_VALUE);
  CHECK_THAT(counted.Sentence(), Contains("is freed while the kernel emulation_fill"));
  CHECK(cuMemFreeHost(gate) == CUDA_ERROR_INVALID_VALUE);
  CHECK_THAT(counted.Sentence(), Contains("is freed while a wait for 1"));
  __atomic_store_n(gate, 1, __ATOMIC_RELEASE);
  CHECK(gpu.Read(stream, words, 4) == std::vector<int64_t>{1, 2, 3, 4});
}

TEST_CASE("freeing memory waits for all streams, and holds up what others issue") {
  Gpu gpu;
  CUstream stream = gpu.Stream(), other = gpu.Stream();
  int64_t* const gate = gpu.Pinned(1);
  const CUdeviceptr words = gpu.Words(4);
  CUdeviceptr unused;
  CHECK_DONE(cuMemAlloc(&unused, 8));
  CHECK_DONE(cuStreamWaitValue64(stream, AddressOf(gate), 1, 0));
  std::atomic<int> freed = 0, issued = 0, begun = 0;
  // A thread may take its time to begin; from there it is quick to come to its wait.
  const auto await_begun = [&](int count) {
    while (begun != count) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  };
  std::thread frees([&] {
    cuCtxSetCurrent(gpu.context());
    ++begun;
    freed = cuMemFree(unused) == CUDA_SUCCESS ? 1 : -1;
  });
  await_begun(1);
  std::thread issues([&] {
    cuCtxSetCurrent(gpu.context());
    ++begun;
    issued = cuMemsetD8Async(words, 0, 8, other) == CUDA_SUCCESS ? 1 : -1;
  });
  await_begun(2);
  CHECK(freed == 0);
  CHECK(issued == 0);
  CHECK(cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
  __atomic_store_n(gate, 1, __ATOMIC_RELEASE);
  frees.join();
  issues.join();
  CHECK(freed == 1);
  CHECK(issued == 1);
}

TEST_CASE("a copy from pageable memory is staged when it is called") {
  Gpu gpu;
  CUstream stream = gpu.Stream();
  int64_t* const gate = gpu.Pinned(1);
  const CUdeviceptr words = gpu.Words(3);
  std::vector<int64_t> source = {5, 6, 7};
  CHECK_DONE(cuStreamWaitValue64(stream, reinterpret_cast<CUdeviceptr>(gate), 1, 0));
  CHECK_DONE(cuMemcpyAsync(words, reinterpret_cast<CUdeviceptr>(source.data()), 24, stream));
  source = {0, 0, 0};
  __atomic_store_n(gate, 1, __ATOMIC_RELEASE);
  CHECK(gpu.Read(stream, words, 3) == std::vector<int64_t>{5, 6, 7});
}

TEST_CASE("a copy of pinned memory reads it when it runs") {
  Gpu gpu;
  CUstream stream = gpu.Stream();
  const CUdeviceptr words = gpu.Words(1);
  int64_t* const source = gpu.Pinned(2);
  CHECK_DONE(cuStreamWaitValue64(stream, reinterpret_cast<CUdeviceptr>(source + 1), 1, 0));
  CHECK_DONE(cuMemcpyAsync(words, reinterpret_cast<CUdeviceptr>(source), 8, stream));
  source[0] = 9;
  __atomic_store_n(source + 1, 1, __ATOMIC_RELEASE);
  CHECK(gpu.Read(stream, words, 1) == std::vector<int64_t>{9});
}

TEST_CASE("copies and fills without a stream order no other stream", "[races]") {
  Gpu gpu;
  CUstream stream = gpu.Stream();
  const int64_t ones = 0x0101010101010101;
  const auto stale = [&](bool fill) {
    return SeedsWith(60, [&] {
      const CUdeviceptr from = gpu.Words(1), to = gpu.Words(1);
      if (fill) {
        CHECK_DONE(cuMemsetD8(from, 1, 8));
      } else {
        CHECK_DONE(cuMemcpyHtoD(from, &ones, 8));
      }
      CHECK_DONE(cuMemcpyAsync(to, from, 8, stream));
      return gpu.Read(stream, to, 1)[0] != ones;
    });
  };
  CHECK(stale(false) > 0);
  CHECK(stale(true) > 0);
  const CUdeviceptr words = gpu.Words(1);
  CHECK_DONE(cuMemsetD8(words, 1, 8));
  CHECK_DONE(cuStreamSynchronize(nullptr));
  CHECK(gpu.Read(stream, words, 1)[0] == ones);
}

TEST_CASE("devices reach each other's memory when they are told to") {
  Gpu first(0), second(1);
  second.Use();
  const CUdeviceptr there = second.Words(4);
  CUstream second_stream = second.Stream();
  CHECK_DONE(second.Fill(second_stream, there, 4, 1, 1));
  CHECK_DONE(cuStreamSynchronize(second_stream));
  first.Use();
  const CUdeviceptr here = first.Words(4);
  CUstream stream = first.Stream();
  {
    Counted counted;
    CHECK(first.Launch(stream, "emulation_add", 4, there, there, here, int64_t{4}) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK_THAT(counted.Sentence(),
               Contains("in memory of device 1, to which device 0 has no access"));
    CHECK(cuMemcpyPeerAsync(here, first.context(), there, first.context(), 32, stream) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK_THAT(counted.Sentence(), Contains("not of the devices it names"));
  }
  CHECK_DONE(cuMemcpyPeerAsync(here, first.context(), there, second.context(), 32, stream));
  CHECK(first.Read(stream, here, 4) == std::vector<int64_t>{1, 2, 3, 4});
  int can = 0;
  CHECK_DONE(cuDeviceCanAccessPeer(&can, 0, 1));
  CHECK(can == 1);
  CHECK_DONE(cuCtxEnablePeerAccess(second.context(), 0));
  CHECK(cuCtxEnablePeerAccess(second.context(), 0) == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  CHECK(cuCtxEnablePeerAccess(first.context(), 0) == CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  CHECK_DONE(first.Launch(stream, "emulation_add", 4, there, there, here, int64_t{4}));
  CHECK(first.Read(stream, here, 4) == std::vector<int64_t>{2, 4, 6, 8});
}

TEST_CASE("what lies beside an allocation faults") {
  Gpu gpu;
  int64_t* const pinned = gpu.Pinned(512);
  CHECK_THAT(DeathOf([&] { *const_cast<volatile int64_t*>(pinned + 512) = 1; }),
             Contains("byte 4096 of 4096 bytes in pinned memory"));
  CHECK_THAT(DeathOf([&] { *const_cast<volatile int64_t*>(pinned - 1) = 1; }),
             Contains("byte -8 of 4096 bytes in pinned memory"));
}

TEST_CASE("the host cannot touch a device's memory") {
  Gpu gpu;
  const CUdeviceptr words = gpu.Words(1);
  CUstream stream = gpu.Stream();
  CHECK_DONE(gpu.Fill(stream, words, 1, 1, 1));
  CHECK_DONE(cuStreamSynchronize(stream));
  CHECK_THAT(DeathOf([&] { *reinterpret_cast<volatile int64_t*>(words) = 1; }),
             Contains("the host touches") && Contains("byte 0 of 8 bytes in memory of device 0"));
}

TEST_CASE("a kernel that runs over the end of its memory ends the program", "[calls]") {
  Gpu gpu;
  CUstream stream = gpu.Stream();
  const CUdeviceptr words = gpu.Words(32), few = gpu.Words(3);
  const auto fill = [&](CUdeviceptr to, int64_t count) {
    gpu.Fill(stream, to, count, 1, 1);
    cuStreamSynchronize(stream);
  };
  CHECK_THAT(DeathOf([&] { fill(words, 33); }),
             Contains("the kernel emulation_fill touches") &&
                 Contains("byte 256 of 256 bytes in memory of device 0"));
  // Memory comes in pieces of 256 bytes: what lies beyond the end in its last piece is for
  // AddressSanitizer to find.
  const ChildEnd end = RunInChild([&] { fill(few, 4); });
#ifdef __SANITIZE_ADDRESS__
  CHECK(end.status != 0);
  CHECK_THAT(end.error, Contains("AddressSanitizer: use-after-poison") &&
                            Contains("WRITE of size 8") && Contains("emulation_fill"));
#else
  CHECK(end.status == 0);
#endif
}

}  // namespace cgraph::emulation
