// Products by cuBLASLt, called directly.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "bench/gpu/probe/probe.h"
#include "runtime/device/cuda/libraries/cublaslt.h"
#include "runtime/device/numbers/half.h"

namespace cgraph::cuda {
namespace {

using device::Memory;

constexpr uint64_t kWorkspace = uint64_t{32} << 20;

void CheckLt(int status, const char* what) {
  if (status != 0) Fail(fmt::format("cuBLASLt: {} gives status {}", what, status));
}

// Fills a matrix with normal numbers times `scale`, as bench/gpu/products.cgraph has them: a GPU
// multiplies zeros with less power, and so faster. A million numbers are drawn, and repeated.
template <typename T>
void FillNormal(const Probe& probe, const Memory& matrix, uint64_t count, float scale) {
  const uint64_t drawn = std::min(count, uint64_t{1} << 20);
  const Memory host = probe.Pinned(drawn * sizeof(T));
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::generate_n(reinterpret_cast<T*>(host.data()), drawn,
                  [&] { return static_cast<T>(scale * normal(random)); });
  for (uint64_t i = 0; i < count; i += drawn) {
    probe.Check(
        probe.driver.cuMemcpyAsync(AddressOf(matrix.data()) + i * sizeof(T), AddressOf(host.data()),
                                   std::min(drawn, count - i) * sizeof(T), probe.stream),
        "copying");
  }
  probe.Wait();
}

// `repeats` products of square matrices, one behind the other: of x at first, then of the last
// one's result.
template <typename T>
void Products(Probe& probe, const CublasLt& f, const std::string& name, int type, uint64_t side,
              int repeats) {
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
                                                 sizeof kWorkspace),
          "a preference");
  LtHeuristic found = {};
  int count = 0;
  const int asked = f.cublasLtMatmulAlgoGetHeuristic(handle, product, layout, layout, layout,
                                                     layout, preference, 1, &found, &count);
  if (asked != 0 || count == 0 || found.status != 0) {
    return Note(fmt::format("cuBLASLt has no algorithm for {}", name));
  }
  const uint64_t elements = side * side, bytes = elements * sizeof(T);
  const Memory w = probe.OnGpu(bytes), x = probe.OnGpu(bytes);
  const Memory a = probe.OnGpu(bytes), b = probe.OnGpu(bytes);
  FillNormal<T>(probe, x, elements, 1);
  FillNormal<T>(probe, w, elements, 0.03F);
  const Memory workspace = probe.OnGpu(kWorkspace);
  const float one = 1, zero = 0;
  probe.MeasureGraph(name, [&] {
    for (int i = 0; i < repeats; ++i) {
      const Memory &from = i == 0 ? x : i % 2 == 0 ? a : b, &to = i % 2 == 0 ? b : a;
      CheckLt(f.cublasLtMatmul(handle, product, &one, w.data(), layout, from.data(), layout, &zero,
                               to.data(), layout, to.data(), layout, &found.algorithm,
                               workspace.data(), kWorkspace, probe.stream),
              "cublasLtMatmul");
    }
  });
  f.cublasLtMatmulPreferenceDestroy(preference);
  f.cublasLtMatrixLayoutDestroy(layout);
  f.cublasLtMatmulDescDestroy(product);
  f.cublasLtDestroy(handle);
}

}  // namespace

void MeasureProducts(Probe& probe) {
  const auto library = CublasLt::Get();
  if (!library.ok()) return Note(library.status().message());
  for (const uint64_t side : probe.small ? std::vector<uint64_t>{16}
                                         : std::vector<uint64_t>{512, 1024, 2048, 4096, 8192}) {
    const int repeats = side <= 2048 ? 16 : 2;  // as in scripts/gpu_check/benchmarks.py
    Products<float>(probe, **library, fmt::format("product_f32_{}", side), lt::kF32, side, repeats);
    Products<device::BF16>(probe, **library, fmt::format("product_bf16_{}", side), lt::kBF16, side,
                           repeats);
  }
}

}  // namespace cgraph::cuda
