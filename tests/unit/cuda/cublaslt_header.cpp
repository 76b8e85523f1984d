// Our declarations of cuBLASLt against its own header, where that is installed, as CMake finds out.
// Compiling this file is the test.
#include <cublasLt.h>
#include <library_types.h>

#include "runtime/device/cuda/libraries/cublaslt.h"

namespace cgraph::cuda {

static_assert(lt::kF32 == CUDA_R_32F && lt::kF64 == CUDA_R_64F);
static_assert(lt::kF16 == CUDA_R_16F && lt::kBF16 == CUDA_R_16BF);
static_assert(lt::kComputeF32 == CUBLAS_COMPUTE_32F && lt::kComputeF64 == CUBLAS_COMPUTE_64F);
static_assert(lt::kTransposeA == CUBLASLT_MATMUL_DESC_TRANSA);
static_assert(lt::kTransposeB == CUBLASLT_MATMUL_DESC_TRANSB);
static_assert(lt::kAsIs == CUBLAS_OP_N && lt::kTransposed == CUBLAS_OP_T);
static_assert(lt::kBatchCount == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
static_assert(lt::kBatchStride == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
static_assert(lt::kMostWorkspace == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
static_assert(lt::kReductions == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
static_assert(lt::kLeastAlignments[0] == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
static_assert(lt::kLeastAlignments[1] == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
static_assert(lt::kLeastAlignments[2] == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
static_assert(lt::kLeastAlignments[3] == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
static_assert(lt::kReduceInComputeType == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
static_assert(sizeof(LtAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(LtHeuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(LtHeuristic, workspace_bytes) ==
              offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(LtHeuristic, status) == offsetof(cublasLtMatmulHeuristicResult_t, state));

// A call as ours is made compiles with the header's types, which are pointers and ints as well.
template <typename Ours, typename Theirs>
constexpr bool kAlike = sizeof(Ours) == sizeof(Theirs);
static_assert(kAlike<LtHandle, cublasLtHandle_t> && kAlike<LtProduct, cublasLtMatmulDesc_t> &&
              kAlike<LtLayout, cublasLtMatrixLayout_t> &&
              kAlike<LtPreference, cublasLtMatmulPreference_t>);

}  // namespace cgraph::cuda
