// EmulatedTarget: a device whose grids run on the CPU, at once, in the thread that launches them.
#ifndef CGRAPH_TESTS_KERNELS_CUDA_EMULATED_TARGET_H_
#define CGRAPH_TESTS_KERNELS_CUDA_EMULATED_TARGET_H_

#include <cstdint>

#include "runtime/cuda/kernels/executable.h"

namespace cgraph::cuda::testing {

// The seed of the order in which threads and blocks of the next grids run.
void SetGridSeed(uint64_t seed);

// Gives the device a library of products, or takes it away.
void SetProducts(const ProductLibrary* products);

// A device of one multiprocessor, so that grids are small and their threads do several items.
const Target& EmulatedTarget();

}  // namespace cgraph::cuda::testing

#endif  // CGRAPH_TESTS_KERNELS_CUDA_EMULATED_TARGET_H_
