// Products by cuBLASLt.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_MATMUL_LIBRARY_PRODUCT_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_MATMUL_LIBRARY_PRODUCT_H_

#include <memory>

#include "runtime/device/cuda/kernels/makers.h"
#include "runtime/device/cuda/kernels/matmul/arguments.h"

namespace cgraph::cuda {

// Makes a product by the target's library, with an algorithm chosen now. Gives `own` back where the
// library is not there, has no algorithm, or does not suit: extents that are dynamic, integers,
// batches that broadcast in part, nothing to add up. The library writes its result whether or not
// the call is poisoned; so `own` takes its place in calls that may be poisoned and whose result
// lies in a state, and in those whose operands are not aligned to 16 bytes.
std::unique_ptr<CudaExecutable> WithLibraryProduct(const Making& making, const Matmul& matmul,
                                                   std::unique_ptr<CudaExecutable> own);

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_MATMUL_LIBRARY_PRODUCT_H_
