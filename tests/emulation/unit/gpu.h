// What the tests of the emulated driver share: a device with streams, memory, kernels.
#ifndef CGRAPH_TESTS_EMULATION_UNIT_GPU_H_
#define CGRAPH_TESTS_EMULATION_UNIT_GPU_H_

#include <cuda.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/emulation/control.h"

namespace cgraph::emulation {

#define CHECK_DONE(call) REQUIRE((call) == CUDA_SUCCESS)

inline const Control& Ask() { return *cgraph_emulation_control(); }

inline CUdeviceptr AddressOf(int64_t* word) { return reinterpret_cast<CUdeviceptr>(word); }

// Counted: misuse is counted while it lives; Sentence() returns the only one there was.
struct Counted {
  Counted() { Ask().count_misuse(true); }
  ~Counted() {
    Ask().forget_misuse();
    Ask().count_misuse(false);
  }
  std::string Sentence() const {
    const bool one = Ask().misuse_count() == 1;
    const std::string sentence = Ask().last_misuse();
    Ask().forget_misuse();
    return one ? sentence : "not one misuse; the last: " + sentence;
  }
};

// Gpu: the context of a device, current in the calling thread, and the kernels of a module. What is
// made of it is destroyed with it.
class Gpu {
 public:
  explicit Gpu(int device = 0) : device_(device) {
    CHECK_DONE(cuInit(0));
    CHECK_DONE(cuDevicePrimaryCtxRetain(&context_, device));
    Use();
    const uint32_t image[4] = {0xba55ed50};
    CHECK_DONE(cuModuleLoadData(&module_, image));
    for (const char* name : {"emulation_fill", "emulation_add"}) {
      CHECK_DONE(cuModuleGetFunction(&kernels_[name], module_, name));
      CHECK_DONE(cuFuncLoad(kernels_[name]));
    }
  }
  ~Gpu() {
    Use();
    for (CUstream stream : streams_) cuStreamSynchronize(stream);
    cuStreamSynchronize(nullptr);
    for (CUstream stream : streams_) cuStreamDestroy(stream);
    for (CUevent event : events_) cuEventDestroy(event);
    for (CUdeviceptr memory : memories_) cuMemFree(memory);
    for (void* memory : pinned_) cuMemFreeHost(memory);
    cuModuleUnload(module_);
    cuCtxSetCurrent(nullptr);
    cuDevicePrimaryCtxRelease(device_);
  }
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  void Use() { CHECK_DONE(cuCtxSetCurrent(context_)); }
  CUcontext context() const { return context_; }
  CUmodule module() const { return module_; }

  CUstream Stream() {
    CHECK_DONE(cuStreamCreateWithPriority(&streams_.emplace_back(), CU_STREAM_NON_BLOCKING, 0));
    return streams_.back();
  }
  CUevent Event(unsigned flags = CU_EVENT_DISABLE_TIMING) {
    CHECK_DONE(cuEventCreate(&events_.emplace_back(), flags));
    return events_.back();
  }
  CUdeviceptr Words(size_t count) {
    CHECK_DONE(cuMemAlloc(&memories_.emplace_back(), count * 8));
    return memories_.back();
  }
  int64_t* Pinned(size_t count) {
    CHECK_DONE(cuMemHostAlloc(&pinned_.emplace_back(), count * 8, CU_MEMHOSTALLOC_PORTABLE));
    for (size_t i = 0; i < count; ++i) static_cast<int64_t*>(pinned_.back())[i] = 0;
    return static_cast<int64_t*>(pinned_.back());
  }
  // Frees it before the Gpu does.
  CUresult Free(CUdeviceptr memory) {
    std::erase(memories_, memory);
    return cuMemFree(memory);
  }

  template <typename... Arguments>
  CUresult Launch(CUstream stream, const char* name, int64_t threads, Arguments... arguments) {
    return LaunchFunction(stream, kernels_.at(name), threads, arguments...);
  }
  template <typename... Arguments>
  CUresult LaunchFunction(CUstream stream, CUfunction function, int64_t threads,
                          Arguments... arguments) {
    void* addresses[] = {&arguments...};
    const auto blocks = static_cast<unsigned>((threads + 31) / 32);
    return cuLaunchKernel(function, blocks, 1, 1, 32, 1, 1, 0, stream, addresses, nullptr);
  }
  // Word i becomes i * scale + offset.
  CUresult Fill(CUstream stream, CUdeviceptr to, int64_t count, int64_t scale, int64_t offset) {
    return Launch(stream, "emulation_fill", count, to, count, scale, offset);
  }
  // Waits for the stream and returns what lies there then.
  std::vector<int64_t> Read(CUstream stream, CUdeviceptr from, size_t count) {
    CHECK_DONE(cuStreamSynchronize(stream));
    std::vector<int64_t> words(count);
    CHECK_DONE(cuMemcpyDtoH(words.data(), from, count * 8));
    return words;
  }

 private:
  const int device_;
  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
  std::map<std::string, CUfunction> kernels_;
  std::vector<CUstream> streams_;
  std::vector<CUevent> events_;
  std::vector<CUdeviceptr> memories_;
  std::vector<void*> pinned_;
};

// Returns how many of `seeds` seeds give true.
template <typename Trial>
int SeedsWith(int seeds, const Trial& trial) {
  int found = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    Ask().reseed(static_cast<uint64_t>(seed));
    found += trial() ? 1 : 0;
  }
  return found;
}

}  // namespace cgraph::emulation

#endif  // CGRAPH_TESTS_EMULATION_UNIT_GPU_H_
