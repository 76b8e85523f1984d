// Products by a library that does what is documented of cuBLASLt: the transposes, strides, batches
// and types that it is told, and which products are left to our own kernels.
#include <catch2/catch.hpp>

#include "runtime/device/cpu/kernels/operands.h"
#include "runtime/device/cuda/libraries/cublaslt.h"
#include "tests/kernels_cuda/emulated_target.h"
#include "tests/kernels_cuda/trial.h"

namespace cgraph::cuda {

// What the library's objects are here.
struct LtHandleObject {};
struct LtProductObject {
  int compute = 0;
  int32_t transpose_a = 0, transpose_b = 0;
};
struct LtLayoutObject {
  int type = 0;
  int64_t rows = 0, columns = 0, stride = 0;  // by columns, `stride` apart
  int32_t count = 1;
  int64_t batch_stride = 0;
};
struct LtPreferenceObject {};

namespace testing {
namespace {

int objects = 0, launched = 0;
bool finds = true;  // whether there is an algorithm

template <typename Object, typename... Args>
int New(Object** object, Args... args) {
  ++objects;
  *object = new Object{args...};
  return 0;
}
template <typename Object>
int Delete(Object* object) {
  --objects;
  delete object;
  return 0;
}

double At(const void* data, int type, int64_t i) {
  switch (type) {
    case lt::kF64: return static_cast<const double*>(data)[i];
    case lt::kF16: return static_cast<const device::F16*>(data)[i];
    case lt::kBF16: return static_cast<const device::BF16*>(data)[i];
    default: return static_cast<const float*>(data)[i];
  }
}
void Put(void* data, int type, int64_t i, double x) {
  switch (type) {
    case lt::kF64: static_cast<double*>(data)[i] = x; break;
    case lt::kF16: static_cast<device::F16*>(data)[i] = device::F16(x); break;
    case lt::kBF16: static_cast<device::BF16*>(data)[i] = device::BF16(x); break;
    default: static_cast<float*>(data)[i] = static_cast<float>(x);
  }
}

int Multiply(LtHandle, LtProduct product, const void* alpha, const void* a, LtLayout a_layout,
             const void* b, LtLayout b_layout, const void* beta, const void*, LtLayout, void* d,
             LtLayout d_layout, const LtAlgorithm* algorithm, void* workspace, size_t bytes,
             CUstream) {
  ++launched;
  const bool doubles = product->compute == lt::kComputeF64;
  REQUIRE(At(alpha, doubles ? lt::kF64 : lt::kF32, 0) == 1);
  REQUIRE(At(beta, doubles ? lt::kF64 : lt::kF32, 0) == 0);
  REQUIRE(algorithm->data[0] == 77);
  REQUIRE(bytes == 1000);
  static_cast<char*>(workspace)[bytes - 1] = 1;
  const auto index = [](const LtLayoutObject& layout, bool transposed, int64_t matrix, int64_t row,
                        int64_t column) {
    if (transposed) std::swap(row, column);
    REQUIRE((row < layout.rows && column < layout.columns && matrix < layout.count));
    return matrix * layout.batch_stride + column * layout.stride + row;
  };
  const int64_t k = product->transpose_a != 0 ? a_layout->rows : a_layout->columns;
  for (int64_t m = 0; m < d_layout->count; ++m) {
    for (int64_t i = 0; i < d_layout->rows; ++i) {
      for (int64_t j = 0; j < d_layout->columns; ++j) {
        double sum = 0;
        for (int64_t l = 0; l < k; ++l) {
          sum += At(a, a_layout->type, index(*a_layout, product->transpose_a != 0, m, i, l)) *
                 At(b, b_layout->type, index(*b_layout, product->transpose_b != 0, m, l, j));
        }
        Put(d, d_layout->type, index(*d_layout, false, m, i, j), sum);
      }
    }
  }
  return 0;
}

const CublasLt kLibrary = [] {
  CublasLt library;
  library.cublasLtCreate = [](LtHandle* handle) { return New(handle); };
  library.cublasLtDestroy = [](LtHandle handle) { return Delete(handle); };
  library.cublasLtMatmulDescCreate = [](LtProduct* product, int compute, int scale) {
    REQUIRE(scale == (compute == lt::kComputeF64 ? lt::kF64 : lt::kF32));
    return New(product, compute);
  };
  library.cublasLtMatmulDescDestroy = [](LtProduct product) { return Delete(product); };
  library.cublasLtMatmulDescSetAttribute = [](LtProduct product, int attribute, const void* value,
                                              size_t bytes) {
    REQUIRE(bytes == sizeof(int32_t));
    (attribute == lt::kTransposeA ? product->transpose_a : product->transpose_b) =
        *static_cast<const int32_t*>(value);
    return 0;
  };
  library.cublasLtMatrixLayoutCreate = [](LtLayout* layout, int type, uint64_t rows,
                                          uint64_t columns, int64_t stride) {
    return New(layout, type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), stride);
  };
  library.cublasLtMatrixLayoutDestroy = [](LtLayout layout) { return Delete(layout); };
  library.cublasLtMatrixLayoutSetAttribute = [](LtLayout layout, int attribute, const void* value,
                                                size_t bytes) {
    REQUIRE(bytes == (attribute == lt::kBatchCount ? sizeof(int32_t) : sizeof(int64_t)));
    if (attribute == lt::kBatchCount) layout->count = *static_cast<const int32_t*>(value);
    else layout->batch_stride = *static_cast<const int64_t*>(value);
    return 0;
  };
  library.cublasLtMatmulPreferenceCreate = [](LtPreference* preference) { return New(preference); };
  library.cublasLtMatmulPreferenceDestroy = [](LtPreference preference) {
    return Delete(preference);
  };
  library.cublasLtMatmulPreferenceSetAttribute = [](LtPreference, int attribute, const void*,
                                                    size_t bytes) {
    REQUIRE(bytes == (attribute == lt::kMostWorkspace ? sizeof(uint64_t) : sizeof(uint32_t)));
    return 0;
  };
  library.cublasLtMatmulAlgoGetHeuristic = [](LtHandle, LtProduct, LtLayout, LtLayout, LtLayout,
                                              LtLayout, LtPreference, int, LtHeuristic* found,
                                              int* count) {
    *found = {.algorithm = {{77}}, .workspace_bytes = 1000};
    *count = finds ? 1 : 0;
    return 0;
  };
  library.cublasLtMatmul = Multiply;
  return library;
}();

struct LibraryCase {
  std::vector<int64_t> a, b, c;
  bool transpose_a = false, transpose_b = false;
  bool by_library = true;
  std::vector<bool> dynamic = {};  // dims of a and c
};

}  // namespace

TEST_CASE("products by a library") {
  const LibraryCase cases[] = {
      {{3, 5}, {5, 7}, {3, 7}},
      {{5, 3}, {5, 7}, {3, 7}, true, false},
      {{3, 5}, {7, 5}, {3, 7}, false, true},
      {{5, 3}, {7, 5}, {3, 7}, true, true},
      {{1, 30}, {30, 20}, {1, 20}},
      {{2, 3, 4, 5}, {5, 6}, {2, 3, 4, 6}},
      {{2, 3, 4, 5}, {2, 3, 5, 6}, {2, 3, 4, 6}},
      {{2, 3, 5, 4}, {2, 3, 6, 5}, {2, 3, 4, 6}, true, true},
      {{4, 5}, {3, 5, 6}, {3, 4, 6}},
      {{3, 1, 4, 5}, {2, 5, 6}, {3, 2, 4, 6}, false, false, false},
      {{4, 0}, {0, 3}, {4, 3}, false, false, false},
      {{9, 5}, {5, 8}, {9, 8}, false, false, false, {true, false}},
  };
  const int before = objects;
  {
    auto library = ProductLibrary::Make(kLibrary);
    REQUIRE(library.ok());
    SetProducts(library->get());
    for (const DType dtype : kDTypes) {
      if (dtype == DType::bool_) continue;
      for (const LibraryCase& p : cases) {
        for (const bool found : {true, false}) {
          finds = found;
          launched = 0;
          const bool by_library = p.by_library && plan::IsFloat(dtype) && found;
          const double rounding = dtype == DType::bf16 ? 8e-3 : dtype == DType::f16 ? 1e-3 : 1e-5;
          Check({.kernel = "matmul",
                 .in = {{dtype, p.a, p.dynamic, Fill::kModerate},
                        {dtype, p.b, {}, Fill::kModerate}},
                 .out = {{dtype, p.c, p.dynamic}},
                 .attributes = {.ints = {{"transpose_a", p.transpose_a},
                                         {"transpose_b", p.transpose_b}}},
                 .relative = plan::IsFloat(dtype) ? rounding : 0,
                 .absolute = plan::IsFloat(dtype) ? 10 * rounding : 0,
                 .writes_poisoned = by_library});
          CHECK((launched > 0) == by_library);
        }
      }
    }
    SetProducts(nullptr);
  }
  CHECK(objects == before);
}

}  // namespace testing
}  // namespace cgraph::cuda
