// Anchors for the figures of a GPU (scripts/gpu-check): what the driver and cuBLASLt take for the
// same work without a runtime above them, through the same tables of their functions. Prints one
// JSON object: nanoseconds of one round of each, medians.
//
//   gpu_probe [--small]
//
// Each round is a bare CUDA graph, or launches by the driver, and then a wait for the stream.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "runtime/cuda/device/gpu.h"
#include "runtime/cuda/kernels/executable.h"
#include "runtime/cuda/libraries/cublaslt.h"

namespace cgraph::cuda {
namespace {

using Clock = std::chrono::steady_clock;
using device::Memory;
using device::OperandType;
using plan::DType;

constexpr int kRounds = 15;
constexpr double kLeastNs = 2e6;  // that the repeats of a round take
constexpr uint64_t kWorkspace = uint64_t{32} << 20;

[[noreturn]] void Fail(const std::string& sentence) {
  std::fprintf(stderr, "gpu_probe: error: %s\n", sentence.c_str());
  std::exit(1);
}

template <typename T>
T Must(Result<T> made) {
  if (!made.ok()) Fail(made.status().message());
  return std::move(*made);
}

struct Probe {
  std::shared_ptr<Gpu> gpu;
  const Driver& driver;
  CUstream stream = nullptr;
  std::string text;  // members of the JSON object so far

  void Check(CUresult result, const char* what) const {
    if (result != CUDA_SUCCESS) Fail(driver.Check(result, what).message());
  }
  void Wait() const { Check(driver.cuStreamSynchronize(stream), "waiting for the GPU"); }
  Memory OnGpu(uint64_t bytes) const {
    return Must(AllocateOnGpu(gpu, bytes, device::MemoryKind::plain, "memory of the probe"));
  }
  Memory Pinned(uint64_t bytes) const {
    return Must(AllocatePinned(gpu, bytes, device::MemoryKind::pinned, "memory of the probe"));
  }
  void Copy(const Memory& to, const Memory& from, uint64_t bytes) const {
    Check(driver.cuMemcpyAsync(AddressOf(to.data()), AddressOf(from.data()), bytes, stream),
          "copying");
  }

  // Adds the median of what `round` takes, which waits for its own end.
  void Measure(const std::string& name, const std::function<void()>& round) {
    const auto time = [&](int times) {
      const Clock::time_point start = Clock::now();
      for (int i = 0; i < times; ++i) round();
      return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / times;
    };
    time(2);
    const int times = std::clamp(static_cast<int>(kLeastNs / std::max(1.0, time(1))), 1, 1000);
    std::vector<double> rounds;
    for (int i = 0; i < kRounds; ++i) rounds.push_back(time(times));
    std::nth_element(rounds.begin(), rounds.begin() + kRounds / 2, rounds.end());
    text += fmt::format("{}\n \"{}\": {:.1f}", text.empty() ? "" : ",", name, rounds[kRounds / 2]);
  }

  // Measures what `issue` appends to the stream: as one CUDA graph, or by itself.
  void MeasureGraph(const std::string& name, const std::function<void()>& issue) {
    CUgraph graph = nullptr;
    CUgraphExec executable = nullptr;
    Check(driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "capturing");
    issue();
    Check(driver.cuStreamEndCapture(stream, &graph), "capturing");
    Check(driver.cuGraphInstantiateWithFlags(&executable, graph, 0), "making a CUDA graph");
    Check(driver.cuGraphUpload(executable, stream), "making a CUDA graph");
    Measure(name, [&] {
      Check(driver.cuGraphLaunch(executable, stream), "launching a CUDA graph");
      Wait();
    });
    driver.cuGraphExecDestroy(executable);
    driver.cuGraphDestroy(graph);
  }
  void MeasureEager(const std::string& name, const std::function<void()>& issue) {
    Measure(name, [&] {
      issue();
      Wait();
    });
  }
};

// ---- small kernels ------------------------------------------------------------------------------

// The chain of bench/gpu/launches.cgraph: a copy in, `count` kernels, a copy out.
void Launches(Probe& probe, int count) {
  OperandType type;
  type.dtype = DType::f32;
  type.rank = 2;
  type.dims[0] = 4;
  type.dims[1] = 64;
  plan::Kernel kernel;
  kernel.name = "softmax";
  kernel.body.push_back(std::make_unique<plan::Primitive>());
  kernel.body[0]->op = "softmax";
  kernel.body[0]->attributes.push_back(std::make_unique<plan::Attribute>());
  kernel.body[0]->attributes[0]->name = "dim";
  kernel.body[0]->attributes[0]->ints = {1};
  const OperandType types[] = {type};
  const auto executable = Must(MakeCudaKernel(probe.gpu->target(), kernel, types, types));
  constexpr uint64_t kBytes = 4 * 64 * 4;
  const Memory in = probe.Pinned(kBytes), out = probe.Pinned(kBytes);
  const Memory a = probe.OnGpu(kBytes);
  View view;
  view.data = a.data();
  view.rank = 2;
  view.dims[0].number = 4;
  view.dims[1].number = 64;
  const Memory scratch = probe.OnGpu(std::max<uint64_t>(executable->scratch(), 256));
  const auto issue = [&] {
    probe.Copy(a, in, kBytes);
    for (int i = 0; i < count; ++i) {
      Call call{probe.stream, {}, {&view, 1}, {&view, 1}, scratch.data()};
      probe.Check(executable->Launch(call), "launching a kernel");
    }
    probe.Copy(out, a, kBytes);
  };
  probe.MeasureGraph(fmt::format("launches_{}_graph", count), issue);
  probe.MeasureEager(fmt::format("launches_{}_eager", count), issue);
}

// ---- copies -------------------------------------------------------------------------------------

void Copies(Probe& probe, uint64_t bytes) {
  const Memory a = probe.OnGpu(bytes), b = probe.OnGpu(bytes), host = probe.Pinned(bytes);
  const auto on_gpu = [&] { probe.Copy(b, a, bytes); };
  probe.MeasureEager(fmt::format("copy_{}", bytes), on_gpu);
  probe.MeasureEager(fmt::format("copy_to_host_{}", bytes), [&] { probe.Copy(host, a, bytes); });
  probe.MeasureEager(fmt::format("copy_from_host_{}", bytes), [&] { probe.Copy(a, host, bytes); });
}

// ---- products -----------------------------------------------------------------------------------

void CheckLt(int status, const char* what) {
  if (status != 0) Fail(fmt::format("cuBLASLt: {} gives status {}", what, status));
}

// `repeats` products of square matrices, one behind the other, called directly.
void Products(Probe& probe, const CublasLt& lt_functions, const std::string& name, int type,
              uint64_t width, uint64_t side, int repeats) {
  const CublasLt& f = lt_functions;
  LtHandle handle = nullptr;
  LtProduct product = nullptr;
  LtLayout layout = nullptr;
  LtPreference preference = nullptr;
  CheckLt(f.cublasLtCreate(&handle), "cublasLtCreate");
  CheckLt(f.cublasLtMatmulDescCreate(&product, lt::kComputeF32, lt::kF32), "a product");
  const auto stride = static_cast<int64_t>(side);
  CheckLt(f.cublasLtMatrixLayoutCreate(&layout, type, side, side, stride), "a layout");
  CheckLt(f.cublasLtMatmulPreferenceCreate(&preference), "a preference");
  CheckLt(f.cublasLtMatmulPreferenceSetAttribute(preference, lt::kMostWorkspace, &kWorkspace,
                                                 sizeof kWorkspace), "a preference");
  LtHeuristic found = {};
  int count = 0;
  const int asked = f.cublasLtMatmulAlgoGetHeuristic(handle, product, layout, layout, layout,
                                                     layout, preference, 1, &found, &count);
  if (asked != 0 || count == 0 || found.status != 0) {  // no figure, then
    std::fprintf(stderr, "gpu_probe: note: cuBLASLt has no algorithm for %s\n", name.c_str());
    return;
  }
  const uint64_t bytes = side * side * width;
  const Memory w = probe.OnGpu(bytes), a = probe.OnGpu(bytes), b = probe.OnGpu(bytes);
  const Memory workspace = probe.OnGpu(kWorkspace);
  const float one = 1, zero = 0;
  probe.MeasureGraph(name, [&] {
    for (int i = 0; i < repeats; ++i) {
      const Memory &from = i % 2 == 0 ? a : b, &to = i % 2 == 0 ? b : a;
      CheckLt(f.cublasLtMatmul(handle, product, &one, w.data(), layout, from.data(), layout, &zero,
                               to.data(), layout, to.data(), layout, &found.algorithm,
                               workspace.data(), kWorkspace, probe.stream), "cublasLtMatmul");
    }
  });
  f.cublasLtMatmulPreferenceDestroy(preference);
  f.cublasLtMatrixLayoutDestroy(layout);
  f.cublasLtMatmulDescDestroy(product);
  f.cublasLtDestroy(handle);
}

int Main(bool small) {
  const Driver& driver = *Must(Driver::Get());
  Probe probe{Must(Gpu::Open(driver, 0)), driver, nullptr, ""};
  probe.Check(driver.cuStreamCreateWithPriority(&probe.stream, CU_STREAM_NON_BLOCKING, 0),
              "opening a stream");
  for (const int count : small ? std::vector{8} : std::vector{8, 64, 512}) Launches(probe, count);
  for (const uint64_t bytes : small ? std::vector<uint64_t>{100'000}
                                    : std::vector<uint64_t>{100'000, 40'000'000, 1u << 28}) {
    Copies(probe, bytes);
  }
  const auto library = CublasLt::Get();
  if (!library.ok()) {
    std::fprintf(stderr, "gpu_probe: note: %s\n", library.status().message().c_str());
  } else {
    for (const uint64_t side : small ? std::vector<uint64_t>{16}
                                     : std::vector<uint64_t>{512, 1024, 2048, 4096, 8192}) {
      const int repeats = side <= 2048 ? 16 : 2;  // as in scripts/gpu_check/benchmarks.py
      Products(probe, **library, fmt::format("product_f32_{}", side), lt::kF32, 4, side, repeats);
      Products(probe, **library, fmt::format("product_bf16_{}", side), lt::kBF16, 2, side, repeats);
    }
  }
  std::printf("{%s\n}\n", probe.text.c_str());
  driver.cuStreamDestroy(probe.stream);
  return 0;
}

}  // namespace
}  // namespace cgraph::cuda

int main(int argc, char** argv) {
  return cgraph::cuda::Main(argc > 1 && std::strcmp(argv[1], "--small") == 0);
}
