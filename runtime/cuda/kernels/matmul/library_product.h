// Products by cuBLASLt.
#ifndef CGRAPH_RUNTIME_CUDA_KERNELS_MATMUL_LIBRARY_PRODUCT_H_
#define CGRAPH_RUNTIME_CUDA_KERNELS_MATMUL_LIBRARY_PRODUCT_H_

#include <memory>

#include "runtime/cuda/kernels/makers.h"
#include "runtime/cuda/kernels/matmul/arguments.h"

namespace cgraph::cuda {

// Makes a product by making.target.products, with an algorithm chosen now; `own` takes its place in
// calls whose operands are not aligned to 16 bytes. Gives `own` back where the library is not there
// or does not suit: extents that are dynamic, integers, batches that broadcast in part, nothing to
// add up. The result is written whether or not the call is poisoned.
std::unique_ptr<CudaExecutable> WithLibraryProduct(const Making& making, const Matmul& matmul,
                                                   std::unique_ptr<CudaExecutable> own);

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_CUDA_KERNELS_MATMUL_LIBRARY_PRODUCT_H_
