// What holds of every call of the emulated driver: contexts, failures, the steady state; modules.
#include <cuda.h>
#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "tests/emulation/death.h"
#include "tests/emulation/unit/gpu.h"

namespace cgraph::emulation {
namespace {

using Catch::Matchers::Contains;

const char* const kSymbols[] = {
#define FUNCTION(member, symbol) #symbol,
#include "runtime/device/cuda/driver/driver.def"
#undef FUNCTION
};
const char* const kMembers[] = {
#define FUNCTION(member, symbol) #member,
#include "runtime/device/cuda/driver/driver.def"
#undef FUNCTION
};
const char* const kCalls[] = {
#define CALL(function, rules) #function,
#include "tests/emulation/driver/calls.def"
#undef CALL
    "cuGetErrorName", "cuGetErrorString"};

}  // namespace

TEST_CASE("the library exports what the runtime looks up, and has rules for each of it") {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  REQUIRE(library != nullptr);
  for (const char* symbol : kSymbols) {
    INFO(symbol);
    CHECK(dlsym(library, symbol) != nullptr);
  }
  CHECK(dlsym(library, "cgraph_emulation_control") != nullptr);
  const std::set<std::string> members(std::begin(kMembers), std::end(kMembers));
  CHECK(members == std::set<std::string>(std::begin(kCalls), std::end(kCalls)));
}

TEST_CASE("devices and their attributes") {
  CHECK_DONE(cuInit(0));
  int count = 0, version = 0, value = 0;
  CHECK_DONE(cuDeviceGetCount(&count));
  CHECK(count == 2);  // as CGRAPH_EMULATION says
  CHECK_DONE(cuDriverGetVersion(&version));
  CHECK(version >= 12030);
  CUdevice device;
  CHECK_DONE(cuDeviceGet(&device, 1));
  CHECK(cuDeviceGet(&device, 2) == CUDA_ERROR_INVALID_DEVICE);
  CHECK_DONE(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 1));
  CHECK(value == 32);
  CHECK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX, 1) == CUDA_ERROR_INVALID_VALUE);
  char name[8];
  CHECK_DONE(cuDeviceGetName(name, sizeof(name), 0));
  CHECK(std::string(name) == "Emulate");
  size_t bytes = 0;
  CHECK_DONE(cuDeviceTotalMem(&bytes, 0));
  CHECK(bytes == size_t{64} << 20);
}

TEST_CASE("errors have names and texts") {
  const char* text = nullptr;
  CHECK_DONE(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text));
  CHECK(std::string(text) == "CUDA_ERROR_OUT_OF_MEMORY");
  CHECK_DONE(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
  CHECK(std::string(text) == "out of memory");
  CHECK(cuGetErrorName(CUDA_ERROR_TIMEOUT, &text) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("calls need a context, and the right one") {
  Gpu first(0), second(1);
  first.Use();
  CUstream stream = first.Stream();
  CUevent event = first.Event();
  CUdeviceptr memory;
  CHECK_DONE(cuCtxSetCurrent(nullptr));
  CHECK(cuMemAlloc(&memory, 8) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuStreamQuery(stream) == CUDA_ERROR_INVALID_CONTEXT);
  second.Use();
  CUcontext current;
  CHECK_DONE(cuCtxGetCurrent(&current));
  CHECK(current == second.context());
  Counted counted;
  CHECK(cuEventRecord(event, stream) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(counted.Sentence() ==
        "a stream of device 0 is used while the context of device 1 is current");
  CHECK(cuEventRecord(event, second.Stream()) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(counted.Sentence() == "an event of device 0 is recorded on a stream of device 1");
  CHECK_DONE(cuStreamQuery(stream));
  CUfunction fill;
  CHECK_DONE(cuModuleGetFunction(&fill, first.module(), "emulation_fill"));
  CHECK(second.LaunchFunction(second.Stream(), fill, 1, memory, int64_t{0}, int64_t{0},
                              int64_t{0}) == CUDA_ERROR_INVALID_HANDLE);
  CHECK_THAT(counted.Sentence(), Contains("loaded on device 0, is launched on device 1"));
}

TEST_CASE("a context that nobody retains frees what is its own") {
  CUdeviceptr memory;
  CUstream stream;
  CUcontext context;
  CHECK_DONE(cuInit(0));
  CHECK(Ask().live() == 0);
  CHECK_DONE(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK_DONE(cuCtxSetCurrent(context));
  CHECK_DONE(cuMemAlloc(&memory, 8));
  CHECK_DONE(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
  CHECK(Ask().live() == 2);
  CHECK_DONE(cuDevicePrimaryCtxRelease(0));
  CHECK(Ask().live() == 0);
  CHECK(cuMemFree(memory) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
  CHECK(cuDevicePrimaryCtxRelease(0) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK_DONE(cuCtxSetCurrent(nullptr));
}

TEST_CASE("modules are fat binaries, and launches copy their arguments") {
  Gpu gpu;
  CUmodule module;
  CUfunction function;
  const char text[16] = ".version 8.0";
  CHECK(cuModuleLoadData(&module, text) == CUDA_ERROR_INVALID_IMAGE);
  CHECK(cuModuleGetFunction(&function, gpu.module(), "no_such_kernel") == CUDA_ERROR_NOT_FOUND);
  CHECK_DONE(cuModuleGetFunction(&function, gpu.module(), "emulation_fill"));
  CUstream stream = gpu.Stream();
  const CUdeviceptr words = gpu.Words(40);
  CUdeviceptr memory = words;
  int64_t count = 40, scale = 2, offset = 1;
  void* arguments[] = {&memory, &count, &scale, &offset};
  const auto launch = [&](unsigned grid, unsigned block, unsigned shared) {
    return cuLaunchKernel(function, grid, 1, 1, block, 1, 1, shared, stream, arguments, nullptr);
  };
  CHECK(launch(0, 32, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(launch(1, 1025, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(launch(1, 32, 49 << 10) == CUDA_ERROR_INVALID_VALUE);
  CHECK_DONE(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                100 << 10));
  CHECK(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 20) ==
        CUDA_ERROR_INVALID_VALUE);
  CHECK_DONE(launch(2, 32, 49 << 10));
  scale = count = -1;
  memory = 0;
  CHECK(gpu.Read(stream, words, 40)[39] == 79);
}

TEST_CASE("the call that is told to fails, and does nothing") {
  Gpu gpu;
  CUstream stream = gpu.Stream();
  const CUdeviceptr words = gpu.Words(1);
  CUdeviceptr more = 0;
  const uint64_t live = Ask().live();
  Ask().fail_at(Ask().calls() + 2, false);
  CHECK_DONE(cuMemsetD8Async(words, 0, 8, stream));
  CHECK(cuMemAlloc(&more, 8) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(Ask().live() == live);
  Ask().fail_at(Ask().calls() + 1, false);
  CHECK(cuMemsetD8Async(words, 1, 8, stream) == CUDA_ERROR_UNKNOWN);
  Ask().fail_at(0, false);
  CHECK(gpu.Read(stream, words, 1)[0] == 0);
}

TEST_CASE("nothing is issued behind a wait or a written value that was refused") {
  Gpu gpu;
  int64_t* const word = gpu.Pinned(1);
  const CUdeviceptr words = gpu.Words(1);
  Counted counted;
  for (const bool wait : {false, true}) {
    CUstream stream = gpu.Stream();
    Ask().fail_at(Ask().calls() + 1, false);
    const CUresult refused = wait ? cuStreamWaitValue64(stream, AddressOf(word), 1, 0)
                                  : cuStreamWriteValue64(stream, AddressOf(word), 1, 0);
    Ask().fail_at(0, false);
    CHECK(refused == CUDA_ERROR_UNKNOWN);
    CHECK(Ask().misuse_count() == 0);
    cuMemsetD8Async(words, 0, 8, stream);
    CHECK(counted.Sentence() ==
          "a fill of 8 bytes is issued behind a wait or a written value that was refused");
    CHECK_DONE(cuMemsetD8Async(words, 0, 8, gpu.Stream()));
    CHECK(Ask().misuse_count() == 0);
  }
}

TEST_CASE("after a fault of the device every call fails") {
  Gpu gpu;
  CUstream stream = gpu.Stream();
  CHECK_DONE(cuStreamSynchronize(stream));
  const auto faulty = [&] {
    Ask().fail_at(Ask().calls() + 2, true);
    CUdeviceptr memory;
    int count = 0;
    const bool right = cuStreamQuery(stream) == CUDA_SUCCESS &&
                       cuStreamQuery(stream) == CUDA_ERROR_LAUNCH_FAILED &&
                       cuStreamSynchronize(stream) == CUDA_ERROR_LAUNCH_FAILED &&
                       cuMemAlloc(&memory, 8) == CUDA_ERROR_LAUNCH_FAILED &&
                       cuStreamDestroy(stream) == CUDA_ERROR_LAUNCH_FAILED &&
                       cuDeviceGetCount(&count) == CUDA_SUCCESS;
    if (right) DieOf("as it should be");
  };
  CHECK(DeathOf(faulty) == "emulated GPU: misuse: as it should be\n");
}

TEST_CASE("the steady state allocates nothing and waits for nothing") {
  Gpu gpu;
  CUstream stream = gpu.Stream();
  const CUdeviceptr words = gpu.Words(1);
  int64_t* const pinned = gpu.Pinned(1);
  int64_t pageable = 0;
  CUdeviceptr more = 0;
  Counted counted;
  Ask().begin_steady_state();
  CHECK_DONE(cuMemcpyAsync(words, reinterpret_cast<CUdeviceptr>(pinned), 8, stream));
  CHECK(Ask().misuse_count() == 0);
  CHECK_DONE(cuMemAlloc(&more, 8));
  CHECK(counted.Sentence() == "cuMemAlloc is called in the steady state");
  CHECK_DONE(cuStreamSynchronize(stream));
  CHECK(counted.Sentence() == "cuStreamSynchronize is called in the steady state");
  CHECK_DONE(cuMemcpyAsync(words, reinterpret_cast<CUdeviceptr>(&pageable), 8, stream));
  CHECK(counted.Sentence() == "8 bytes of pageable memory are copied in the steady state");
  Ask().end_steady_state();
  CHECK_DONE(cuMemFree(more));
  CHECK(Ask().misuse_count() == 0);
}

}  // namespace cgraph::emulation
