// The trial target of kernels_cuda_test: a device whose grids run on the CPU, at once, in the thread
// that launches them. It has one multiprocessor, so that grids are small and their threads do
// several items.
#ifndef CGRAPH_TESTS_KERNELS_CUDA_EMULATED_TARGET_H_
#define CGRAPH_TESTS_KERNELS_CUDA_EMULATED_TARGET_H_

#include "tests/kernels_cuda/trial_target.h"

namespace cgraph::cuda::testing {

// Gives the device a library of products, or takes it away.
void SetProducts(const ProductLibrary* products);

}  // namespace cgraph::cuda::testing

#endif  // CGRAPH_TESTS_KERNELS_CUDA_EMULATED_TARGET_H_
