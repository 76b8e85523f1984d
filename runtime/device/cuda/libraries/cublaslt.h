// cuBLASLt, which comes with CUDA's libraries and computes matrix products faster than kernels of
// our own. What we use of it is declared here as in its header, cublasLt.h, which need not be
// installed. The library is opened at run time: without it, products are computed by our kernels.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARIES_CUBLASLT_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARIES_CUBLASLT_H_

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/base/status.h"

namespace cgraph::cuda {

using LtHandle = struct LtHandleObject*;
using LtProduct = struct LtProductObject*;
using LtLayout = struct LtLayoutObject*;
using LtPreference = struct LtPreferenceObject*;
struct LtAlgorithm {
  uint64_t data[8];
};
struct LtHeuristic {
  LtAlgorithm algorithm;
  size_t workspace_bytes;
  int status;
  float waves;
  int reserved[4];
};

// Numbers of cublasLt.h, cublas_api.h and library_types.h.
namespace lt {
inline constexpr int kF32 = 0, kF64 = 1, kF16 = 2, kBF16 = 14;     // cudaDataType_t
inline constexpr int kComputeF32 = 68, kComputeF64 = 70;           // cublasComputeType_t: no tf32
inline constexpr int kTransposeA = 3, kTransposeB = 4;             // of a product
inline constexpr int32_t kAsIs = 0, kTransposed = 1;               // cublasOperation_t
inline constexpr int kBatchCount = 5, kBatchStride = 6;            // of a layout
inline constexpr int kMostWorkspace = 1, kReductions = 3;          // of a preference
inline constexpr int kLeastAlignments[] = {5, 6, 7, 8};            // of a preference: a, b, c, d
inline constexpr uint32_t kReduceInComputeType = 2;                // a reduction of split products
}  // namespace lt

// The oldest version that is used, as cublasLtGetVersion counts: 12.0.
inline constexpr size_t kOldestCublasLt = 120000;

struct CublasLt {
#define FUNCTION(name, parameters) int(*name) parameters = nullptr;
#include "runtime/device/cuda/libraries/cublaslt.def"
#undef FUNCTION
  size_t (*cublasLtGetVersion)() = nullptr;
  size_t version = 0;  // as cublasLtGetVersion counts

  // Opens the library, once a process. kNotFound where there is none, kUnsupported where it is old
  // or broken, with a sentence that says what to do about it.
  static Result<const CublasLt*> Get();
};

// ProductLibrary: cuBLASLt as one context uses it, which is current when it is made and ended.
class ProductLibrary {
 public:
  static Result<std::unique_ptr<ProductLibrary>> Make(const CublasLt& functions);
  ~ProductLibrary();
  ProductLibrary(const ProductLibrary&) = delete;
  ProductLibrary& operator=(const ProductLibrary&) = delete;

  const CublasLt& functions() const { return functions_; }
  LtHandle handle() const { return handle_; }

 private:
  ProductLibrary(const CublasLt& functions, LtHandle handle)
      : functions_(functions), handle_(handle) {}

  const CublasLt& functions_;
  LtHandle handle_;
};

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARIES_CUBLASLT_H_
