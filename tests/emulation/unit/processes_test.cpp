// What the emulated driver shares with other processes, and with the program's own memory.
#include <cuda.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/emulation/death.h"
#include "tests/emulation/nccl/functions.h"
#include "tests/emulation/unit/gpu.h"

namespace cgraph::emulation {
namespace {

constexpr unsigned kReach = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;
constexpr size_t kPage = 4096;

// Pages: memory of the program's own, as what several processes map.
struct Pages {
  explicit Pages(size_t count)
      : bytes(count * kPage),
        start(static_cast<std::byte*>(
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~Pages() { munmap(start, bytes); }

  const size_t bytes;
  std::byte* const start;
};

// Child: a process that does a piece, then waits until it is let go.
class Child {
 public:
  explicit Child(const std::function<bool()>& piece) {
    REQUIRE((pipe(done_) == 0 && pipe(go_) == 0));
    process_ = fork();
    if (process_ != 0) return;
    const char well = piece() ? 1 : 0;
    char go = 0;
    const bool told = write(done_[1], &well, 1) == 1 && read(go_[0], &go, 1) >= 0;
    _exit(told ? 0 : 1);
  }
  ~Child() {
    End();
    for (int end : {done_[0], done_[1], go_[0], go_[1]}) close(end);
  }
  // Returns whether the piece went well.
  bool Done() {
    char well = 0;
    return read(done_[0], &well, 1) == 1 && well == 1;
  }
  void End() {
    if (process_ == 0) return;
    REQUIRE(write(go_[1], "", 1) == 1);
    waitpid(process_, nullptr, 0);
    process_ = 0;
  }

 private:
  int done_[2], go_[2];
  pid_t process_ = 0;
};

// A process that was forked has none of the threads that carry work out elsewhere.
TEST_CASE("A process reads and writes memory that another one has exported", "[calls]") {
  Gpu gpu;
  CUstream stream = gpu.Stream();
  const CUdeviceptr words = gpu.Words(600);
  CHECK_DONE(gpu.Fill(stream, words, 600, 3, 1));
  CHECK_DONE(cuStreamSynchronize(stream));
  CUipcMemHandle handle;
  CHECK_DONE(cuIpcGetMemHandle(&handle, words));
  REQUIRE(gpu.Read(stream, words, 600)[5] == 16);  // it is where it was
  {
    Child child([&] {
      CUdeviceptr opened = 0, again = 0;
      std::vector<int64_t> read(600);
      bool well = cuIpcOpenMemHandle(&opened, handle, kReach) == CUDA_SUCCESS &&
                  cuIpcOpenMemHandle(&again, handle, kReach) == CUDA_SUCCESS;
      well = well && opened == again && opened != words;
      well = well && cuMemcpyDtoH(read.data(), opened, 4800) == CUDA_SUCCESS && read[599] == 1798;
      return well && cuMemsetD8(opened, 0, 8) == CUDA_SUCCESS &&
             cuStreamSynchronize(nullptr) == CUDA_SUCCESS &&
             cuIpcCloseMemHandle(again) == CUDA_SUCCESS;
    });
    REQUIRE(child.Done());
    REQUIRE(gpu.Read(stream, words, 600)[0] == 0);
    Counted counted;
    REQUIRE(cuMemFree(words) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(counted.Sentence().find("has it open") != std::string::npos);
  }
  CHECK_DONE(gpu.Free(words));  // whoever has ended has it open no more
}

TEST_CASE("Opening memory that was freed, or is the process's own, is a misuse") {
  Gpu gpu;
  const CUdeviceptr words = gpu.Words(8);
  CUipcMemHandle handle;
  CHECK_DONE(cuIpcGetMemHandle(&handle, words));
  CUdeviceptr opened = 0;
  {
    Counted counted;
    REQUIRE(cuIpcOpenMemHandle(&opened, handle, kReach) == CUDA_ERROR_INVALID_CONTEXT);
    REQUIRE(counted.Sentence() == "a process opens memory that it has exported itself");
  }
  CHECK_DONE(gpu.Free(words));
  const std::string death = DeathOf([&] { cuIpcOpenMemHandle(&opened, handle, kReach); });
  REQUIRE(death.find("opened that was freed") != std::string::npos);
}

TEST_CASE("Only what a process has opened may be closed") {
  Gpu gpu;
  const CUdeviceptr words = gpu.Words(8);
  Counted counted;
  REQUIRE(cuIpcCloseMemHandle(words) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE(counted.Sentence().find("no memory of another process is open") != std::string::npos);
}

TEST_CASE("What is no allocation's start cannot be exported") {
  Gpu gpu;
  const CUdeviceptr words = gpu.Words(8);
  CUipcMemHandle handle;
  REQUIRE(cuIpcGetMemHandle(&handle, words + 8) == CUDA_ERROR_INVALID_VALUE);
  int64_t* const pinned = gpu.Pinned(8);
  REQUIRE(cuIpcGetMemHandle(&handle, AddressOf(pinned)) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("Streams write and await registered memory of the program's") {
  Gpu gpu;
  Pages pages(2);
  CHECK_DONE(cuMemHostRegister(pages.start, pages.bytes, CU_MEMHOSTREGISTER_PORTABLE));
  CUstream stream = gpu.Stream();
  auto* const word = reinterpret_cast<int64_t*>(pages.start + kPage);
  CHECK_DONE(cuStreamWriteValue64(stream, AddressOf(word), 7, 0));
  CHECK_DONE(cuStreamWaitValue64(stream, AddressOf(word), 7, CU_STREAM_WAIT_VALUE_GEQ));
  CHECK_DONE(cuStreamSynchronize(stream));
  REQUIRE(*word == 7);
  CHECK_DONE(cuMemHostUnregister(pages.start));
  Counted counted;
  REQUIRE(cuStreamWriteValue64(stream, AddressOf(word), 8, 0) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE(counted.Sentence().find("pageable memory") != std::string::npos);
}

TEST_CASE("Registering twice, and unregistering what is not registered, are misuses") {
  Gpu gpu;
  Pages pages(4);
  CHECK_DONE(cuMemHostRegister(pages.start + kPage, kPage, 0));
  Counted counted;
  for (const size_t from : {size_t{0}, kPage}) {
    REQUIRE(cuMemHostRegister(pages.start + from, 2 * kPage, 0) ==
            CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    REQUIRE(counted.Sentence().find("pinned already") != std::string::npos);
  }
  CHECK_DONE(cuMemHostRegister(pages.start + 2 * kPage, kPage, 0));  // beside it
  REQUIRE(cuMemFreeHost(pages.start + kPage) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE(cuMemHostUnregister(pages.start) == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  REQUIRE(counted.Sentence().find("nothing is registered") != std::string::npos);
  CHECK_DONE(cuMemHostUnregister(pages.start + kPage));
  CHECK_DONE(cuMemHostUnregister(pages.start + 2 * kPage));
}

TEST_CASE("An id of NCCL's is one communicator's") {
  Gpu gpu;
  cuda::NcclId id;
  REQUIRE(cuda::ncclGetUniqueId(&id) == 0);
  cuda::NcclConfig config;
  config.blocking = 0;
  cuda::NcclComm handle = nullptr;
  REQUIRE(cuda::ncclCommInitRankConfig(&handle, 1, id, 0, &config) == cuda::nccl::kInProgress);
  REQUIRE(cuda::ncclCommAbort(handle) == 0);
  Counted counted;
  REQUIRE(cuda::ncclCommInitRankConfig(&handle, 1, id, 0, &config) == 4);
  REQUIRE(counted.Sentence().find("an id is used of a communicator that has ended") !=
          std::string::npos);
}

}  // namespace
}  // namespace cgraph::emulation
