// The emulated cuBLASLt: what it computes of a batch, and which misuse it reports.
#include <catch2/catch.hpp>

#include <optional>

#include "tests/emulation/cublaslt/objects.h"
#include "tests/emulation/unit/gpu.h"

namespace cgraph::cuda {

#define FUNCTION(name, parameters) extern "C" int name parameters;
#include "runtime/device/cuda/libraries/cublaslt.def"
#undef FUNCTION

}  // namespace cgraph::cuda

namespace cgraph::emulation {
namespace {

using namespace cuda;

constexpr uint32_t kAlignment = 16;

// A product of batches of 2 in f64: c[3, 4] = a[3, 2] @ b^T[2, 4] + c, all by columns.
struct Fixture {
  Gpu gpu;
  CUstream stream = gpu.Stream();
  LtHandle handle = nullptr;
  LtProduct product = nullptr;
  LtLayout a = nullptr, b = nullptr, c = nullptr;
  LtHeuristic found = {};
  CUdeviceptr a_data = gpu.Words(12), b_data = gpu.Words(16), c_data = gpu.Words(24);
  CUdeviceptr workspace = gpu.Words(1 << 17);

  Fixture() {
    REQUIRE(cublasLtCreate(&handle) == 0);
    REQUIRE(cublasLtMatmulDescCreate(&product, lt::kComputeF64, lt::kF64) == 0);
    const int32_t transposed = lt::kTransposed;
    REQUIRE(cublasLtMatmulDescSetAttribute(product, lt::kTransposeB, &transposed, 4) == 0);
    a = Layout(3, 2);
    b = Layout(4, 2);
    c = Layout(3, 4);
  }
  ~Fixture() {
    gpu.Use();
    for (LtLayout layout : {a, b, c}) cublasLtMatrixLayoutDestroy(layout);
    cublasLtMatmulDescDestroy(product);
    cublasLtDestroy(handle);
  }
  static LtLayout Layout(uint64_t rows, uint64_t columns) {
    LtLayout layout;
    REQUIRE(cublasLtMatrixLayoutCreate(&layout, lt::kF64, rows, columns,
                                       static_cast<int64_t>(rows)) == 0);
    const int32_t count = 2;
    const auto stride = static_cast<int64_t>(rows * columns);
    REQUIRE(cublasLtMatrixLayoutSetAttribute(layout, lt::kBatchCount, &count, 4) == 0);
    REQUIRE(cublasLtMatrixLayoutSetAttribute(layout, lt::kBatchStride, &stride, 8) == 0);
    return layout;
  }
  // Returns how many algorithms there are for d of this layout, with at most so much workspace.
  int Choose(LtLayout d, uint64_t most_workspace) {
    LtPreference preference;
    REQUIRE(cublasLtMatmulPreferenceCreate(&preference) == 0);
    cublasLtMatmulPreferenceSetAttribute(preference, lt::kMostWorkspace, &most_workspace, 8);
    for (const int attribute : lt::kLeastAlignments) {
      cublasLtMatmulPreferenceSetAttribute(preference, attribute, &kAlignment, 4);
    }
    int count = 0;
    cublasLtMatmulAlgoGetHeuristic(handle, product, a, b, d, d, preference, 1, &found, &count);
    cublasLtMatmulPreferenceDestroy(preference);
    return found.status == 0 ? count : 0;
  }
  int Multiply(uint64_t off = 0, std::optional<size_t> bytes = std::nullopt) {
    const double one = 1;
    const auto at = [](CUdeviceptr data) { return reinterpret_cast<void*>(data); };
    return cublasLtMatmul(handle, product, &one, at(a_data + off), a, at(b_data), b, &one,
                          at(c_data), c, at(c_data), c, &found.algorithm, at(workspace),
                          bytes.value_or(found.workspace_bytes), stream);
  }
  void Write(CUdeviceptr to, const std::vector<double>& numbers) {
    CHECK_DONE(cuMemcpyHtoD(to, numbers.data(), numbers.size() * 8));
  }
};

}  // namespace

TEST_CASE("a batch of products by the emulated cuBLASLt") {
  Fixture f;
  REQUIRE(f.Choose(f.c, 1 << 20) == 1);
  std::vector<double> a(12), b(16), c(24, 100);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<double>(i * i % 7);
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<double>(i * 5 % 11);
  f.Write(f.a_data, a);
  f.Write(f.b_data, b);
  f.Write(f.c_data, c);
  CHECK_DONE(cuStreamSynchronize(nullptr));
  REQUIRE(f.Multiply() == 0);
  CHECK_DONE(cuStreamSynchronize(f.stream));
  CHECK_DONE(cuMemcpyDtoH(c.data(), f.c_data, c.size() * 8));
  for (size_t m = 0; m < 2; ++m) {
    for (size_t i = 0; i < 3; ++i) {
      for (size_t j = 0; j < 4; ++j) {
        const double sum = a[m * 6 + i] * b[m * 8 + j] + a[m * 6 + 3 + i] * b[m * 8 + 4 + j];
        CHECK(c[m * 12 + j * 3 + i] == 100 + sum);
      }
    }
  }
}

TEST_CASE("misuse of the emulated cuBLASLt") {
  Fixture f;
  REQUIRE(f.Choose(f.c, 1 << 20) == 1);
  const Counted counted;
  SECTION("a layout that does not fit") {
    LtLayout wrong = Fixture::Layout(4, 4);
    CHECK(f.Choose(wrong, 0) == 0);
    CHECK(counted.Sentence() ==
          "cuBLASLt: 3 x 2 by 2 x 4 is to give 4 x 4, in batches of 2, 2, 2");
    cublasLtMatrixLayoutDestroy(wrong);
  }
  SECTION("columns that overlap") {
    LtLayout wrong;
    REQUIRE(cublasLtMatrixLayoutCreate(&wrong, lt::kF64, 3, 4, 2) == 0);
    CHECK(f.Choose(wrong, 0) == 0);
    CHECK(counted.Sentence() == "cuBLASLt: columns of 3 elements lie 2 apart");
    cublasLtMatrixLayoutDestroy(wrong);
  }
  SECTION("an attribute of another size") {
    const int64_t count = 2;
    CHECK(cublasLtMatrixLayoutSetAttribute(f.a, lt::kBatchCount, &count, 8) != 0);
    CHECK(counted.Sentence() == "cuBLASLt: an attribute of 4 bytes is given as 8");
  }
  SECTION("what was destroyed") {
    LtLayout gone = Fixture::Layout(3, 4);
    cublasLtMatrixLayoutDestroy(gone);
    CHECK(f.Choose(gone, 0) == 0);
    CHECK(counted.Sentence() ==
          "cuBLASLt: a layout is used that was destroyed, or never made");
    LtHandle handle;
    REQUIRE(cublasLtCreate(&handle) == 0);
    cublasLtDestroy(handle);
    std::swap(f.handle, handle);
    CHECK(f.Multiply() != 0);
    CHECK(counted.Sentence() ==
          "cuBLASLt: a handle is used that was destroyed, or never made");
    std::swap(f.handle, handle);
  }
  SECTION("a workspace that is too small") {
    for (int64_t rows = 3; f.found.workspace_bytes == 0; ++rows) {  // another shape, which has one
      cublasLtMatrixLayoutDestroy(f.a);
      cublasLtMatrixLayoutDestroy(f.c);
      f.a = Fixture::Layout(static_cast<uint64_t>(rows), 2);
      f.c = Fixture::Layout(static_cast<uint64_t>(rows), 4);
      f.Choose(f.c, 1 << 20);
    }
    CHECK(f.Multiply(0, f.found.workspace_bytes - 1) != 0);
    CHECK(counted.Sentence() ==
          "cuBLASLt: a workspace of " + std::to_string(f.found.workspace_bytes - 1) +
              " bytes is given to an algorithm that needs " +
              std::to_string(f.found.workspace_bytes));
  }
  SECTION("an operand that is not aligned as was promised") {
    CHECK(f.Multiply(8) != 0);
    CHECK(counted.Sentence().find("is not aligned to 16 bytes") != std::string::npos);
  }
  SECTION("an algorithm of another product") {
    LtLayout other = Fixture::Layout(3, 4);
    std::swap(f.c, other);
    const int32_t count = 2;
    const int64_t stride = 20;
    cublasLtMatrixLayoutSetAttribute(f.c, lt::kBatchCount, &count, 4);
    cublasLtMatrixLayoutSetAttribute(f.c, lt::kBatchStride, &stride, 8);
    CHECK(f.Multiply() != 0);
    CHECK(counted.Sentence() ==
          "cuBLASLt: a product is to be computed by an algorithm that was chosen for another one");
    cublasLtMatrixLayoutDestroy(other);
  }
  SECTION("another device is current") {
    {
      Gpu other(1);
      CHECK(f.Multiply() != 0);
      CHECK(counted.Sentence() == "cuBLASLt: a handle is used while another context is current "
                                  "than when it was made");
    }
    f.gpu.Use();
  }
  SECTION("memory that was freed") {
    f.gpu.Free(f.a_data);
    CHECK(f.Multiply() != 0);
    CHECK(counted.Sentence().find("a product of ") == 0);
  }
}

}  // namespace cgraph::emulation
