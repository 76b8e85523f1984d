// Inputs and results in memory of GPUs, between the engine and a program that uses CUDA itself.
#include <catch2/catch.hpp>
#include <cuda.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/emulation/engine/driver_control.h"
#include "tests/support/run.h"

namespace cgraph::emulation {
namespace {

constexpr int64_t kCount = 4096;
constexpr uint64_t kBytes = kCount * sizeof(float);
const std::string kProgram = CGRAPH_SOURCE_DIR "/tests/emulation/engine/handover.cgraph";

// The driver's function of this name, which the engine has opened.
#define DRIVER(function, symbol) \
  (*reinterpret_cast<decltype(&function)>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), symbol)))

// Program: what a program does with a GPU, in a stream of its own.
class Program {
 public:
  explicit Program(int gpu) {
    CUdevice device = 0;
    REQUIRE(DRIVER(cuDeviceGet, "cuDeviceGet")(&device, gpu) == CUDA_SUCCESS);
    REQUIRE(DRIVER(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain")(&context_, device) ==
            CUDA_SUCCESS);
    MakeCurrent();
    REQUIRE(DRIVER(cuStreamCreateWithPriority, "cuStreamCreateWithPriority")(
                &stream_, CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS);
    REQUIRE(DRIVER(cuEventCreate, "cuEventCreate")(&event_, CU_EVENT_DISABLE_TIMING) ==
            CUDA_SUCCESS);
    gate_ = static_cast<uint64_t*>(Pinned(sizeof(uint64_t)));
    *gate_ = 0;
  }

  void MakeCurrent() {
    REQUIRE(DRIVER(cuCtxSetCurrent, "cuCtxSetCurrent")(context_) == CUDA_SUCCESS);
  }
  CUcontext context() const { return context_; }
  CUstream stream() const { return stream_; }

  void* Pinned(uint64_t bytes) {
    void* data = nullptr;
    REQUIRE(DRIVER(cuMemHostAlloc, "cuMemHostAlloc")(&data, bytes, CU_MEMHOSTALLOC_PORTABLE) ==
            CUDA_SUCCESS);
    return data;
  }
  void* OnGpu(uint64_t bytes) {
    CUdeviceptr data = 0;
    REQUIRE(DRIVER(cuMemAlloc, "cuMemAlloc_v2")(&data, bytes) == CUDA_SUCCESS);
    return reinterpret_cast<void*>(data);
  }
  // Appends to the stream.
  void Copy(void* to, const void* from, uint64_t bytes) {
    REQUIRE(DRIVER(cuMemcpyAsync, "cuMemcpyAsync")(reinterpret_cast<CUdeviceptr>(to),
                                                   reinterpret_cast<CUdeviceptr>(from), bytes,
                                                   stream_) == CUDA_SUCCESS);
  }
  // Holds the stream until Open() has been called as often.
  void Close() {
    REQUIRE(DRIVER(cuStreamWaitValue64, "cuStreamWaitValue64_v2")(
                stream_, reinterpret_cast<CUdeviceptr>(gate_), ++gates_,
                CU_STREAM_WAIT_VALUE_GEQ) == CUDA_SUCCESS);
  }
  void Open() { std::atomic_ref<uint64_t>(*gate_).store(gates_); }
  void Finish() {
    REQUIRE(DRIVER(cuStreamSynchronize, "cuStreamSynchronize")(stream_) == CUDA_SUCCESS);
  }
  // Lets another stream wait for all that this one has been given.
  void HandOver(void* to) {
    REQUIRE(DRIVER(cuEventRecord, "cuEventRecord")(event_, stream_) == CUDA_SUCCESS);
    REQUIRE(DRIVER(cuStreamWaitEvent, "cuStreamWaitEvent")(static_cast<CUstream>(to), event_, 0) ==
            CUDA_SUCCESS);
  }
  // Returns a tensor on the GPU that counts from `first` on, when its stream is over.
  void* Count(float first, int64_t count = kCount) {
    auto* const numbers = static_cast<float*>(Pinned(count * sizeof(float)));
    for (int64_t i = 0; i < count; ++i) numbers[i] = first + static_cast<float>(i);
    void* const made = OnGpu(count * sizeof(float));
    Copy(made, numbers, count * sizeof(float));
    return made;
  }

 private:
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  CUevent event_ = nullptr;
  uint64_t* gate_ = nullptr;
  uint64_t gates_ = 0;
};

// The engine over the program, on both GPUs or on the first.
std::unique_ptr<testing::Runner> Load(EngineOptions options = {}, bool both = true) {
  options.require_gpus = true;
  if (both) return std::make_unique<testing::Runner>(kProgram, CompileOptions{}, options);
  const auto plan = testing::CompileFile(kProgram);
  for (uint32_t device = 0; device < plan->devices.size(); ++device) {
    if (plan->devices[device]->kind == plan::DeviceKind::gpu) options.gpu_map[device] = 0;
  }
  return std::make_unique<testing::Runner>(kProgram, CompileOptions{}, options);
}

Result<Execution> Start(Engine& engine, const std::string& graph, const void* data,
                        std::optional<uint32_t> gpu, int64_t count = kCount) {
  const Input input{
      .name = "x", .data = data, .dtype = plan::DType::f32, .dims = {&count, 1}, .gpu = gpu};
  return engine.Execute(graph, {&input, 1});
}

// Checks that a result is twice what Program::Count made.
void CheckTwice(const Outputs& outputs, size_t i, float first, int64_t count = kCount) {
  std::vector<float> numbers(count);
  REQUIRE(outputs[i].elements() == count);
  REQUIRE(outputs.CopyOut(i, numbers.data()).ok());
  for (int64_t k = 0; k < count; ++k) {
    if (numbers[k] == 2 * (first + static_cast<float>(k))) continue;
    INFO("element " << k);
    REQUIRE(numbers[k] == 2 * (first + static_cast<float>(k)));
  }
}

// Returns what is wrong with `work` in the steady state: it waits for a device, or allocates.
template <typename Work>
std::string Misuse(Work&& work) {
  const Control& control = DriverControl();
  control.count_misuse(true);
  control.begin_steady_state();
  work();
  control.end_steady_state();
  control.count_misuse(false);
  const std::string misuse = control.misuse_count() == 0 ? "" : control.last_misuse();
  control.forget_misuse();
  return misuse;
}

}  // namespace

TEST_CASE("an input on a GPU is read behind the stream of its producer") {
  const auto runner = Load();
  Engine& engine = runner->engine();
  Program program(0);
  const std::string graph = GENERATE("twice", "with_host", "on_both");
  void* const stream = *engine.HandoverStream(0);
  CHECK(stream == *engine.HandoverStream(0));
  for (float first = 1; first < 4; ++first) {
    auto* const x = program.OnGpu(kBytes);
    program.Copy(x, program.Count(100), kBytes);
    program.Finish();  // what is there when the order is ignored
    program.Close();
    program.Copy(x, program.Count(first), kBytes);
    program.HandOver(stream);
    std::thread opener([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      program.Open();
    });
    auto execution = Start(engine, graph, x, 0);
    REQUIRE(execution.ok());
    auto outputs = execution->Get();
    opener.join();
    REQUIRE(outputs.ok());
    for (size_t i = 0; i < outputs->size(); ++i) CheckTwice(*outputs, i, first);
  }
}

TEST_CASE("GPUs read an input where it lies on them, small ones, too") {
  const auto runner = Load();
  Engine& engine = runner->engine();
  Program program(0);
  void* const x = program.Count(5);
  void* const few = program.Count(7, 4);
  program.HandOver(*engine.HandoverStream(0));
  CheckTwice(*Start(engine, "twice", x, 0)->Get(), 0, 5);  // who comes later does not wait
  CHECK(Misuse([&] {
          for (int turn = 0; turn < 3; ++turn) {
            auto execution = Start(engine, "twice", x, 0);
            auto small = Start(engine, "four", few, 0, 4);
            REQUIRE(execution.ok());
            REQUIRE(small.ok());
            REQUIRE(execution->Get().ok());
            REQUIRE(small->Get().ok());
          }
        }).empty());
  CheckTwice(*Start(engine, "four", few, 0, 4)->Get(), 0, 7, 4);
  // Where a CPU thread reads it, too, it comes by way of the host: somebody waits for that.
  CHECK_FALSE(Misuse([&] { REQUIRE(Start(engine, "with_host", x, 0)->Get().ok()); }).empty());
  // From one kind of memory to the other and back.
  std::vector<float> numbers(kCount);
  for (int64_t i = 0; i < kCount; ++i) numbers[i] = 50 + static_cast<float>(i);
  CheckTwice(*Start(engine, "twice", numbers.data(), std::nullopt)->Get(), 0, 50);
  CheckTwice(*Start(engine, "twice", x, 0)->Get(), 0, 5);
  // An empty tensor has no address.
  CheckTwice(*Start(engine, "twice", nullptr, 0, 0)->Get(), 0, 0, 0);
}

TEST_CASE("a GPU on which the engine does not run lends nothing") {
  const auto runner = Load({}, /*both=*/false);
  Engine& engine = runner->engine();
  CHECK(engine.HandoverStream(1).status().message() ==
        "the engine does not run on cuda:1; it runs on cuda:0");
  Program program(1);
  const auto refused = Start(engine, "twice", program.Count(1), 1).status();
  CHECK(refused.code() == StatusCode::kUnsupported);
  CHECK(refused.message() ==
        "the input `x` lies in memory of cuda:1, and the engine runs on cuda:0; copy it to there "
        "or to the host");
  program.Finish();
}

TEST_CASE("results stay on the GPU that makes them, and are inputs there") {
  const auto runner = Load({.results_on_gpus = true});
  Engine& engine = runner->engine();
  Program program(0);
  void* const x = program.Count(3);
  program.Finish();
  auto once = Start(engine, "twice", x, 0)->Get();
  REQUIRE(once.ok());
  CHECK(once->gpu(0) == 0);
  CheckTwice(*once, 0, 3);
  std::optional<Outputs> again;
  CHECK(Misuse([&] {
          auto got = Start(engine, "twice", (*once)[0].data, once->gpu(0))->Get();
          REQUIRE(got.ok());
          again = *got;
        }).empty());
  std::vector<float> numbers(kCount);
  REQUIRE(again->CopyOut(0, numbers.data()).ok());
  CHECK(numbers[1] == 16);
  const auto both = *Start(engine, "on_both", x, 0)->Get();
  CHECK(both.gpu(0) == 0);
  CHECK(both.gpu(1) == 1);
  CheckTwice(both, 1, 3);
  const auto mixed = *Start(engine, "with_host", x, 0, 100)->Get();
  CHECK(mixed.gpu(0) == 0);
  CHECK(mixed.gpu(1) == std::nullopt);
  CheckTwice(mixed, 0, 3, 100);
  CheckTwice(mixed, 1, 3, 100);
  CHECK(Load()->engine().GetStats().executions == 0);
  const auto host = *Start(Load()->engine(), "twice", x, 0)->Get();
  CHECK(host.gpu(0) == std::nullopt);
  // They outlive the engine.
  engine.Teardown();
  CheckTwice(*once, 0, 3);
}

TEST_CASE("a result that was let go is not written before others have read it") {
  const auto runner = Load({.results_on_gpus = true});
  Engine& engine = runner->engine();
  Program program(0);
  void* const x = program.Count(3);
  void* const y = program.Count(70);
  program.Finish();
  auto* const copies = static_cast<float*>(program.Pinned(8 * kBytes));
  const bool all = GENERATE(false, true);  // results that there are
  std::vector<Outputs> held;
  for (int i = 0; i < (all ? 8 : 1); ++i) held.push_back(*Start(engine, "twice", x, 0)->Get());
  program.Close();
  for (size_t i = 0; i < held.size(); ++i) {
    program.Copy(copies + i * kCount, held[i][0].data, kBytes);
    held[i].UsedBy(0, program.stream());
  }
  const size_t count = held.size();
  held.clear();
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    program.Open();
  });
  for (int i = 0; i < 10; ++i) CheckTwice(*Start(engine, "twice", y, 0)->Get(), 0, 70);
  opener.join();
  program.Finish();
  for (size_t i = 0; i < count; ++i) CHECK(copies[i * kCount + 9] == 2 * (3 + 9));
}

TEST_CASE("the caller's CUDA context is its own again after each call") {
  const auto runner = Load();
  Engine& engine = runner->engine();
  Program program(1);
  const auto current = [] {
    CUcontext context = nullptr;
    REQUIRE(DRIVER(cuCtxGetCurrent, "cuCtxGetCurrent")(&context) == CUDA_SUCCESS);
    return context;
  };
  void* const x = program.Count(3);
  program.HandOver(*engine.HandoverStream(1));
  program.Finish();
  REQUIRE(current() == program.context());
  auto execution = Start(engine, "on_both", x, 1);
  CHECK(current() == program.context());
  CHECK(execution->Get().ok());
  CHECK(current() == program.context());
  const auto second = Load();
  CHECK(current() == program.context());
  const Program at_first(0);  // states are read and set on GPU 0, and then on 1
  const auto snapshot = engine.TakeSnapshot();
  REQUIRE(snapshot.ok());
  CHECK(current() == at_first.context());
  CHECK(engine.RestoreSnapshot(snapshot->tensors).ok());
  CHECK(current() == at_first.context());
}

}  // namespace cgraph::emulation
